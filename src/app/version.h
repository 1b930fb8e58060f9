// SPDX-License-Identifier: Apache-2.0
// What this binary was built from; the definition is generated at build time.
#pragma once

#include <string_view>

namespace gpubench {

struct BuildVersion {
  std::string_view version;
  std::string_view git;   ///< `git describe`, empty outside a checkout
  std::string_view cuda;  ///< nvcc's version, empty without CUDA
  std::string_view compiler;
  std::string_view archs;  ///< comma-separated: "sm_80,sm_90,compute_80"
};

const BuildVersion& build_version();

}  // namespace gpubench
