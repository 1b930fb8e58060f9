// SPDX-License-Identifier: Apache-2.0
#include "ops/all_reduce/pattern_backend.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "gpubench/error.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

constexpr std::size_t kGrain = 1 << 14;

/// The cpu device stores the floating types as FP32 and int32 as itself.
template <class Function>
void with_type(ReduceType type, void* data, const Function& function) {
  if (type == ReduceType::int32) return function(static_cast<std::int32_t*>(data));
  function(static_cast<float*>(data));
}

void fill(Stream&, void* to, const ReducePattern& pattern, int rank, std::uint64_t count) {
  with_type(pattern.type, to, [&](auto* values) {
    using T = std::remove_pointer_t<decltype(values)>;
    parallel_for((count + 3) / 4, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t block = begin; block < end; ++block) {
        const PatternInputs inputs = pattern_inputs(pattern, rank, block);
        for (std::size_t j = 0; j < 4 && 4 * block + j < count; ++j) {
          values[4 * block + j] = static_cast<T>(inputs.v[j]);
        }
      }
    });
  });
}

void merge(PatternFaults& to, const PatternFaults& from) {
  if (from.wrong > 0) to.first = to.wrong == 0 ? from.first : std::min(to.first, from.first);
  to.wrong += from.wrong;
  to.nonfinite += from.nonfinite;
  to.max_error = std::max(to.max_error, from.max_error);
}

PatternFaults check(Device&, Stream&, const void* out, const ReducePattern& pattern,
                    std::uint64_t count) {
  PatternFaults all;
  std::mutex mutex;
  with_type(pattern.type, const_cast<void*>(out), [&](const auto* values) {
    parallel_for((count + 3) / 4, kGrain, [&](std::size_t begin, std::size_t end) {
      PatternFaults mine;
      for (std::size_t block = begin; block < end; ++block) {
        const PatternOutputs wanted = pattern_outputs(pattern, block);
        for (std::size_t j = 0; j < 4 && 4 * block + j < count; ++j) {
          const auto value = static_cast<double>(values[4 * block + j]);
          if (value == wanted.v[j]) continue;  // NaN is equal to nothing
          if (mine.wrong++ == 0) mine.first = 4 * block + j;
          if (!std::isfinite(value)) {
            ++mine.nonfinite;
          } else {
            mine.max_error = std::max(mine.max_error, std::fabs(value - wanted.v[j]) / wanted.v[j]);
          }
        }
      }
      const std::scoped_lock lock(mutex);
      merge(all, mine);
    });
  });
  return all;
}

}  // namespace

PatternBackend cpu_pattern_backend() { return {fill, check}; }

PatternBackend pattern_backend(DeviceKind kind) {
#if GPUBENCH_HAS_CUDA
  if (kind == DeviceKind::cuda) return cuda_pattern_backend();
#endif
  if (kind == DeviceKind::cpu) return cpu_pattern_backend();
  throw DeviceError("E_NO_CUDA",
                    "this build has no CUDA: build with a CUDA toolkit, or --device cpu");
}

}  // namespace gpubench
