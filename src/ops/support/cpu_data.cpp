// SPDX-License-Identifier: Apache-2.0
// The cpu device's data: FP32 arrays whose values are rounded to the type they stand for.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernels/common/random.h"
#include "ops/support/data.h"
#include "ops/support/operands.h"
#include "ops/support/parallel.h"

namespace gpubench {
namespace {

constexpr std::size_t kGrain = 1 << 14;

random::Floats draw(const FillRequest& request, std::uint64_t block) {
  switch (request.data) {
    case DataDist::normal:
      return random::normal(random::philox(request.seed, request.stream, block));
    case DataDist::uniform:
      return random::uniform(random::philox(request.seed, request.stream, block));
    case DataDist::ones:
      return {{1.f, 1.f, 1.f, 1.f}};
    case DataDist::zeros:
      break;
  }
  return {{0.f, 0.f, 0.f, 0.f}};
}

/// `value(number, block, j)` of every drawn number, the j-th of its block.
template <class T, class Value>
void fill_array(T* out, const FillRequest& request, Value value) {
  parallel_for((request.count + 3) / 4, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const random::Floats values = draw(request, block);
      for (std::size_t j = 0; j < 4 && 4 * block + j < request.count; ++j) {
        out[4 * block + j] = value(values.v[j], block, j);
      }
    }
  });
}

void fill(Stream&, void* to, const FillRequest& request) {
  if (request.dtype == Dtype::fp64) {
    const bool has_low_bits = request.data == DataDist::normal || request.data == DataDist::uniform;
    return fill_array(
        static_cast<double*>(to), request, [&](float number, std::size_t block, std::size_t j) {
          const double value = static_cast<double>(number) * request.scale;
          if (!has_low_bits) return value;
          const random::Words low =
              random::philox(request.seed, random::kLowBitsStream + request.stream, block);
          return random::with_low_bits(value, low.v[j]);
        });
  }
  const auto scale = static_cast<float>(request.scale);
  fill_array(static_cast<float*>(to), request, [&](float number, std::size_t, std::size_t) {
    return round_to(request.dtype, number * scale);
  });
}

template <class R>
double sum_of_squares(const R* values, std::uint64_t count) {
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return sum;
}

template <class R>
double root_mean_square(const R* values, std::uint64_t count) {
  return std::sqrt(sum_of_squares(values, count) / static_cast<double>(count));
}

/// The same of many values, by all threads: the last bits depend on which one ends first.
template <class R>
double parallel_root_mean_square(const R* values, std::uint64_t count) {
  double sum = 0;
  std::mutex mutex;
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    const double part = sum_of_squares(values + begin, end - begin);
    const std::scoped_lock lock(mutex);
    sum += part;
  });
  return std::sqrt(sum / static_cast<double>(count));
}

void merge(Difference& to, const Difference& from) {
  to.max_error = std::fmax(to.max_error, from.max_error);
  if (from.bad > 0 && (to.bad == 0 || from.first_bad < to.first_bad)) {
    to.first_bad = from.first_bad;
    to.first_out = from.first_out;
    to.first_reference = from.first_reference;
  }
  to.bad += from.bad;
  to.nonfinite += from.nonfinite;
}

template <class T, class R>
Difference compare_arrays(const T* values, const R* reference, const CompareRequest& request) {
  const double whole_rms =
      std::fmax(parallel_root_mean_square(reference, request.count), request.least_rms);
  const double least_rms = std::fmax(kRowRmsFloor * whole_rms, request.least_rms);
  Difference all;
  std::mutex mutex;
  parallel_for(request.count, kGrain, [&](std::size_t begin, std::size_t end) {
    Difference mine;
    double rms = whole_rms;
    for (std::size_t i = begin; i < end; ++i) {
      if (request.row != 0 && (i == begin || i % request.row == 0)) {
        const std::size_t first = i / request.row * request.row;
        rms = std::fmax(root_mean_square(reference + first, request.row), least_rms);
      }
      const auto value = static_cast<double>(values[i]), wanted = static_cast<double>(reference[i]);
      const double difference = std::fabs(value - wanted);
      // Equal zeros beside an rms of zero would be 0 / 0.
      const double error = difference == 0 ? 0 : difference / (std::fabs(wanted) + rms);
      const bool finite = std::isfinite(value) && std::isfinite(wanted);
      if (!finite) ++mine.nonfinite;
      if (finite) mine.max_error = std::fmax(mine.max_error, error);
      if (finite && error <= request.tolerance) continue;
      if (mine.bad == 0) {
        mine.first_bad = i;
        mine.first_out = value;
        mine.first_reference = wanted;
      }
      ++mine.bad;
    }
    const std::scoped_lock lock(mutex);
    merge(all, mine);
  });
  return all;
}

Difference compare(Device&, Stream&, const void* out, const void* reference,
                   const CompareRequest& request) {
  if (reference_dtype(request.dtype) == Dtype::fp32) {
    return compare_arrays(static_cast<const float*>(out), static_cast<const float*>(reference),
                          request);
  }
  const auto* wanted = static_cast<const double*>(reference);
  return request.dtype == Dtype::fp64
             ? compare_arrays(static_cast<const double*>(out), wanted, request)
             : compare_arrays(static_cast<const std::int32_t*>(out), wanted, request);
}

void compare_bits(Stream&, const void* a, const void* b, std::uint64_t bytes,
                  DifferingBits* found) {
  constexpr std::size_t kWord = 4;
  const auto* left = static_cast<const std::byte*>(a);
  const auto* right = static_cast<const std::byte*>(b);
  std::mutex mutex;
  parallel_for((bytes + kWord - 1) / kWord, kGrain, [&](std::size_t begin, std::size_t end) {
    if (std::memcmp(left + begin * kWord, right + begin * kWord,
                    std::min<std::size_t>(end * kWord, bytes) - begin * kWord) == 0) {
      return;
    }
    DifferingBits mine;
    for (std::size_t word = begin; word < end; ++word) {
      const std::size_t at = word * kWord;
      if (std::memcmp(left + at, right + at, std::min(kWord, bytes - at)) == 0) continue;
      ++mine.words;
      mine.first_byte = std::min<std::uint64_t>(mine.first_byte, at);
    }
    const std::scoped_lock lock(mutex);
    found->words += mine.words;
    found->first_byte = std::min(found->first_byte, mine.first_byte);
  });
}

}  // namespace

DataBackend cpu_data_backend() { return {fill, compare, compare_bits}; }

}  // namespace gpubench
