// SPDX-License-Identifier: Apache-2.0
// In which order a persistent kernel goes through the tiles of a matrix, so that what runs at the
// same time shares rows and columns in the L2 cache: bands of `band` tile rows, column after column
// within a band, every other band from right to left (the columns at the turn are still cached).
#pragma once

#ifdef __CUDACC__
#define GPUBENCH_TILE_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_TILE_HOST_DEVICE
#endif

namespace gpubench {

struct TilePlace {
  int row = 0, column = 0;
};

struct TileOrder {
  int rows = 0, columns = 0;  ///< of tiles; the last may hang over the edge
  int band = 1;

  GPUBENCH_TILE_HOST_DEVICE int tiles() const { return rows * columns; }

  GPUBENCH_TILE_HOST_DEVICE TilePlace place(int tile) const {
    const int per_band = band * columns;
    const int index = tile / per_band, within = tile - index * per_band;
    const int left = rows - index * band, height = left < band ? left : band;
    const int column = within / height, row = within - column * height;
    return {index * band + row, index % 2 == 0 ? column : columns - 1 - column};
  }
};

}  // namespace gpubench
