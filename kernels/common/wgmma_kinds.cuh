// SPDX-License-Identifier: Apache-2.0
// Operand types of wgmma. Each takes 32 bytes of k of A[64][k] and B[N][k], both in shared memory,
// and adds to 64 x N sums; 16-bit operands may lie with m or n contiguous, the others have k.
//
// The sums are 32-bit words for every type, FP32 or INT32. Word i of thread t of the warpgroup
// (w = t / 32, l = t % 32) is row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i
// % 2.
#pragma once

#include <cstdint>

namespace gpubench {

template <bool kAKContiguous, bool kBKContiguous>
struct WgmmaBf16 {};
template <bool kAKContiguous, bool kBKContiguous>
struct WgmmaFp16 {};
struct WgmmaTf32 {};
struct WgmmaE4m3 {};
struct WgmmaE5m2ByE4m3 {};
struct WgmmaInt8 {};

}  // namespace gpubench
