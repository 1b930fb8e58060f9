// SPDX-License-Identifier: Apache-2.0
// What the memory kernels should produce, by the plainest code: one element or chunk per thread, in
// double.
#pragma once

#include "kernels/memory/stream.h"

namespace gpubench {

/// As launch_stream(), whatever the variant.
void launch_stream_reference(void* stream, const StreamArguments& arguments);

}  // namespace gpubench
