// SPDX-License-Identifier: Apache-2.0
// Filling and comparing on a CUDA device, by our own kernels.
#include "gpubench/error.h"
#include "kernels/check/compare.h"
#include "kernels/check/compare_bits.h"
#include "kernels/data/fill.h"
#include "ops/support/data.h"

namespace gpubench {
namespace {

FillKind fill_kind(DataDist data) {
  switch (data) {
    case DataDist::normal:
      return FillKind::normal;
    case DataDist::uniform:
      return FillKind::uniform;
    case DataDist::zeros:
      return FillKind::zeros;
    case DataDist::ones:
      return FillKind::ones;
  }
  throw Error("E_INTERNAL", "unknown data distribution");
}

void fill(Stream& stream, void* to, const FillRequest& request) {
  launch_fill(stream.native(), to,
              {.kind = fill_kind(request.data),
               .dtype = request.dtype,
               .scale = request.scale,
               .seed = request.seed,
               .stream = request.stream,
               .count = request.count});
}

Difference compare(Device& device, Stream& stream, const void* out, const void* reference,
                   const CompareRequest& request) {
  const Buffer workspace(device, compare_workspace_bytes());
  launch_compare(stream.native(), request.dtype, out, reference, request.count,
                 {.tolerance = request.tolerance,
                  .row = request.row,
                  .row_floor = kRowRmsFloor,
                  .least_rms = request.least_rms},
                 workspace.data());
  CompareResult result;
  device.copy_to_host(stream, &result, workspace.data(), sizeof(result));
  return {.max_error = result.max_error,
          .bad = result.bad,
          .nonfinite = result.nonfinite,
          .first_bad = result.first_bad,
          .first_out = result.first_out,
          .first_reference = result.first_reference};
}

void compare_bits(Stream& stream, const void* a, const void* b, std::uint64_t bytes,
                  DifferingBits* found) {
  static_assert(sizeof(DifferingBits) == sizeof(BitDifferences));
  launch_compare_bits(stream.native(), a, b, bytes, reinterpret_cast<BitDifferences*>(found));
}

}  // namespace

DataBackend cuda_data_backend() { return {fill, compare, compare_bits}; }

}  // namespace gpubench
