// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/configs.h"
#include "app/host.h"
#include "app/session.h"
#include "app/verbs.h"
#include "app/version.h"
#include "device/devices.h"
#include "gpubench/error.h"
#include "report/text_table.h"
#include "util/text.h"

namespace gpubench {
namespace {

void print_library(const LibraryStatus& status) {
  if (status.loaded) {
    fmt::print("  {:<10} {:<14} {}\n", status.name, status.version.empty() ? "?" : status.version,
               printable(status.path));
    for (const std::string& place : status.refused)
      fmt::print("  {:<10}   passed over {}\n", "", printable(place));
    return;
  }
  fmt::print("  {:<10} not usable: {}\n", status.name, printable(status.problem));
  for (const std::string& place : status.searched)
    fmt::print("  {:<10}   looked for {}\n", "", printable(place));
}

/// True when a GPU can be used.
bool print_driver() {
  const CudaState state = cuda_state();
  const auto version = [](int number) {
    return number > 0 ? fmt::format("{}.{}", number / 1000, number % 1000 / 10)
                      : std::string("none");
  };
  fmt::print("CUDA\n  built with {}, for {}\n",
             build_version().cuda.empty() ? "no toolkit" : build_version().cuda,
             build_version().archs.empty() ? "no GPU" : build_version().archs);
  fmt::print("  runtime {}, driver supports {}\n", version(state.runtime_version),
             version(state.driver_version));
  const bool usable = state.kind == CudaState::Kind::ok;
  fmt::print("  {}\n\n", usable ? "a GPU can be used" : state.message);
  return usable;
}

}  // namespace

ExitCode doctor_verb() {
  const BuildVersion& build = build_version();
  fmt::print("gpubench {} ({}), {}\n\n", build.version, build.git.empty() ? "no commit" : build.git,
             build.compiler);
  const bool usable = print_driver();
  Libraries libraries;
  fmt::print("libraries\n");
  for (const LibraryStatus& status : libraries.statuses(true)) print_library(status);
  fmt::print("\nenvironment\n");
  const auto environment = recorded_environment();
  for (const auto& [name, value] : environment) {
    fmt::print("  {}={}\n", printable(name), printable(value));
  }
  if (environment.empty()) fmt::print("  nothing set that changes how GPU libraries behave\n");
  if (!usable) {
    fmt::print("\nNo GPU can be used; `gpubench run --suite bert --device cpu` works.\n");
    return ExitCode::no_device;
  }
  fmt::print("\n");
  return devices_verb(false, {});
}

}  // namespace gpubench
