// SPDX-License-Identifier: Apache-2.0
#include "ops/transfer/segments.h"

#include <algorithm>

namespace gpubench {
namespace {

constexpr std::uint64_t kBlock = sizeof(random::Words);
constexpr std::uint64_t kTile = 64;
constexpr std::uint64_t kShift = 256;
constexpr std::uint64_t kWord = 4;

unsigned char byte_at(const BytePattern& pattern, std::uint64_t index) {
  return byte_of(pattern_block(pattern, index / kBlock), static_cast<unsigned>(index % kBlock));
}

/// The next place that holds another byte; `index` itself where all are alike.
std::uint64_t other_byte(const BytePattern& pattern, std::uint64_t bytes, std::uint64_t index) {
  for (std::uint64_t step = 1; step < bytes; ++step) {
    const std::uint64_t other = (index + step) % bytes;
    if (byte_at(pattern, other) != byte_at(pattern, index)) return other;
  }
  return index;
}

}  // namespace

std::vector<Segment> transfer_segments(std::uint64_t bytes, Fault fault,
                                       const BytePattern& pattern) {
  // Neither first nor last, and in no special place.
  const std::uint64_t place = bytes - 1 - bytes / 3;
  std::vector<Segment> segments{{0, 0, bytes}};
  switch (fault) {
    case Fault::none:
    case Fault::rare_bits:  // a copy has no FP32 bits that are too low to matter
      break;
    case Fault::wrong_element:
      segments.push_back({place, other_byte(pattern, bytes, place), 1});
      break;
    case Fault::unwritten_tile: {
      const std::uint64_t tile = std::min(bytes, kTile);
      const std::uint64_t begin = std::min(place, bytes - tile);
      segments = {{0, 0, begin}, {begin + tile, begin + tile, bytes - begin - tile}};
      break;
    }
    case Fault::swapped_operands: {
      const std::uint64_t shift = bytes > 2 * kShift ? kShift : 1;
      segments = {{0, shift, bytes - shift}, {bytes - shift, 0, shift}};
      break;
    }
    case Fault::nan:
      segments.push_back({place, 0, std::min(kWord, bytes - place), /*from_spoilt=*/true});
      break;
  }
  std::erase_if(segments, [](const Segment& segment) { return segment.bytes == 0; });
  return segments;
}

}  // namespace gpubench
