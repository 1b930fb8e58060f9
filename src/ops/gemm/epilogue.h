// SPDX-License-Identifier: Apache-2.0
// The GELU of GEMM epilogues on the host.
#pragma once

#include <cmath>

namespace gpubench {

/// Tanh form, the one cuBLASLt fuses: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <class Real>
Real gelu_tanh(Real x) {
  constexpr auto kSqrt2OverPi = static_cast<Real>(0.79788456080286535588);
  return Real{0.5} * x *
         (1 + std::tanh(kSqrt2OverPi * (x + static_cast<Real>(0.044715) * x * x * x)));
}

}  // namespace gpubench
