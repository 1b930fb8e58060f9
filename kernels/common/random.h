// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Philox4x32-10, Salmon et al., SC'11) for host and device: number i
// of a stream depends on (seed, stream, i) alone, so any thread on any device makes the same data.
// The words are bit-equal everywhere; normals agree up to the last bits of log, sin and cos.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define GPUBENCH_HOST_DEVICE __host__ __device__
#else
#define GPUBENCH_HOST_DEVICE
#endif

namespace gpubench::random {

struct Words {
  std::uint32_t v[4];
};

struct Floats {
  float v[4];
};

/// Four words: block `block` of the stream.
GPUBENCH_HOST_DEVICE inline Words philox(std::uint64_t seed, std::uint64_t stream,
                                         std::uint64_t block) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  constexpr int kRounds = 10;
  std::uint32_t c0 = static_cast<std::uint32_t>(block);
  std::uint32_t c1 = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// In (0, 1), exact in FP32: an odd multiple of 2^-24.
GPUBENCH_HOST_DEVICE inline float unit(std::uint32_t word) {
  // 23 bits and a half step, so that neither 0 (log) nor 1 comes out after rounding.
  return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f;
}

/// Four numbers uniform in (-1, 1).
GPUBENCH_HOST_DEVICE inline Floats uniform(const Words& words) {
  Floats out{};
  for (int i = 0; i < 4; ++i) out.v[i] = 2.f * unit(words.v[i]) - 1.f;
  return out;
}

/// Four standard normals by Box-Muller; none is further out than kNormalLimit.
GPUBENCH_HOST_DEVICE inline Floats normal(const Words& words) {
  constexpr float kTwoPi = 6.28318530717958647692f;
  Floats out{};
  for (int i = 0; i < 4; i += 2) {
    const float radius = sqrtf(-2.f * logf(unit(words.v[i])));
    const float angle = kTwoPi * unit(words.v[i + 1]);
    out.v[i] = radius * cosf(angle);
    out.v[i + 1] = radius * sinf(angle);
  }
  return out;
}

/// Where the low bits of a stream's doubles come from: a stream of their own.
constexpr std::uint64_t kLowBitsStream = 0x6c6f7762ULL << 32;

/// A double within half a last place of `value`, with random bits where FP32 has none: data made of
/// FP32 numbers alone would hide a product that drops the low half of its operands, and draw less
/// power.
GPUBENCH_HOST_DEVICE inline double with_low_bits(double value, std::uint32_t word) {
  return value * (1 + (2 * static_cast<double>(unit(word)) - 1) * 0x1p-24);
}

/// sqrt(-2 log 2^-24): what unit() lets Box-Muller reach.
constexpr double kNormalLimit = 5.77;

}  // namespace gpubench::random
