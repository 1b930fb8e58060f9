// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "kernels/common/launch.cuh"
#include "kernels/launch/empty.h"

namespace gpubench {
namespace {

template <int kBytes>
struct Arguments {
  LaunchTally* tally;
  unsigned char payload[kBytes - 8];
};

template <>
struct Arguments<8> {
  LaunchTally* tally;
};

template <int kBytes>
__global__ void empty_kernel(Arguments<kBytes> arguments) {
  static_assert(sizeof(Arguments<kBytes>) == kBytes);
  if (arguments.tally == nullptr) return;
  std::uint64_t sum = 0;
  if constexpr (kBytes > 8) {
    for (int i = 0; i < kBytes - 8; ++i) sum += std::uint64_t(i + 1) * arguments.payload[i];
  }
  // Launches of one stream run one after the other.
  ++arguments.tally->launches;
  arguments.tally->checksum += sum;
}

template <int kBytes>
Arguments<kBytes> make_arguments() {
  Arguments<kBytes> arguments{};
  if constexpr (kBytes > 8) {
    for (int i = 0; i < kBytes - 8; ++i) arguments.payload[i] = payload_byte(i);
  }
  return arguments;
}

template <int kBytes>
void launch(cudaStream_t stream, LaunchTally* tally, LaunchFault fault) {
  // Made once: what is measured is the launch, not the host's copying into the struct.
  static const Arguments<kBytes> kPlain = make_arguments<kBytes>();
  if (tally == nullptr && fault == LaunchFault::none) {
    empty_kernel<kBytes><<<1, 1, 0, stream>>>(kPlain);
    return;
  }
  Arguments<kBytes> arguments = kPlain;
  arguments.tally = tally;
  if constexpr (kBytes > 8) {
    if (fault == LaunchFault::wrong_byte) arguments.payload[(kBytes - 8) / 3] ^= 1;
    if (fault == LaunchFault::reversed_arguments) {
      std::reverse(std::begin(arguments.payload), std::end(arguments.payload));
    }
  }
  empty_kernel<kBytes><<<1, 1, 0, stream>>>(arguments);
}

}  // namespace

void launch_empty(void* stream, int argument_bytes, LaunchTally* tally, LaunchFault fault) {
  const cudaStream_t queue = native_stream(stream);
  switch (argument_bytes) {
    case 8:
      launch<8>(queue, tally, fault);
      break;
    case 256:
      launch<256>(queue, tally, fault);
      break;
    case 1024:
      launch<1024>(queue, tally, fault);
      break;
    case 4096:
      launch<4096>(queue, tally, fault);
      break;
    default:
      throw ConfigError("there is no empty kernel with " + std::to_string(argument_bytes) +
                        " bytes of arguments; there are: 8, 256, 1024, 4096");
  }
  check_launch("empty_kernel");
}

}  // namespace gpubench
