// SPDX-License-Identifier: Apache-2.0
// Name and version of the report format; the keys are in configs/schema/report.schema.json.
#pragma once

namespace gpubench {

/// Written as "schema". A newer minor version ("gpubench.report/1.2") adds keys and stays readable.
inline constexpr const char* kReportSchema = "gpubench.report/1";

/// The keys that `spec.dense_tflops` and `spec.flops_per_clk_per_sm` always have.
inline constexpr const char* kPeakKeys[] = {"fp64", "fp64_tensor", "fp32", "tf32",
                                            "fp16", "bf16",        "fp8",  "int8"};

/// The keys that `libraries` always has.
inline constexpr const char* kLibraryKeys[] = {"driver", "libcuda", "cudart", "cublaslt",
                                               "cudnn",  "nccl",    "nvml"};

}  // namespace gpubench
