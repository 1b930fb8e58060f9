// SPDX-License-Identifier: Apache-2.0
// A libcudnn that only knows its version: $FAKE_CUDNN_VERSION.
#include <cstddef>
#include <cstdlib>

extern "C" std::size_t cudnnGetVersion() {
  const char* text = std::getenv("FAKE_CUDNN_VERSION");
  return text == nullptr ? 0 : static_cast<std::size_t>(std::atol(text));
}
