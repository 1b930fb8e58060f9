// SPDX-License-Identifier: Apache-2.0
// A cuBLASLt algorithm as a short text for the report.
#pragma once

#include <string>

#include "libs/nvidia/cublaslt.h"

namespace gpubench {

/// "id 66 tile 128x256 stages 128xAUTO cluster 2x1 splitk 1 swizzle 0"; in cuBLASLt's column-major
/// view.
std::string describe_algorithm(const CublasLtApi& lt, const cublasLtMatmulAlgo_t& algorithm);

}  // namespace gpubench
