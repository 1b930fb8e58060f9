// SPDX-License-Identifier: Apache-2.0
// A driver library that only knows its version: $FAKE_DRIVER_VERSION, or fails without it, as a
// toolkit's stub does.
#include <cstdlib>

extern "C" int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_DRIVER_VERSION");
  if (text == nullptr) return 34;  // CUDA_ERROR_STUB_LIBRARY
  *version = std::atoi(text);
  return 0;
}
