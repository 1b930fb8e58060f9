// SPDX-License-Identifier: Apache-2.0
// The wgmma kernels of sm_90a: what they compute, in which ways, and their launch. TF32 cuts its
// FP32 operands to TF32, as the tensor core reads them. INT8 has no epilogue and takes no scale.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"

namespace gpubench {

/// Why these arguments can't be computed, or nothing. Pointers aren't looked at.
std::string sm90a_refusal(const GemmArguments& arguments);

/// Every way to run the problem, the best by estimate first, but after a few of one tile it is the
/// others' turn. The workspace holds copies of operands
/// whose rows don't begin at multiples of 16 bytes, and the partial sums of a split k.
/// `multiprocessors`: of the device, 0 to ask the current one.
std::vector<GemmConfig> sm90a_configs(const GemmArguments& arguments, int multiprocessors = 0);

/// `config` is one that sm90a_configs() gave for arguments of the same type, sizes, layouts and
/// alignment (16 bytes of a, b, c, aux at the least); `workspace` is aligned to 256 bytes. Throws
/// DeviceError.
void launch_gemm_sm90a(void* stream, const GemmArguments& arguments, const GemmConfig& config);

/// Bytes of workspace for copies of A and B with padded rows; 0 where their rows are aligned.
std::size_t sm90a_copy_bytes(const GemmArguments& arguments);

}  // namespace gpubench
