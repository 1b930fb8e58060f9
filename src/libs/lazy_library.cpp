// SPDX-License-Identifier: Apache-2.0
#include "libs/lazy_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "util/text.h"

namespace gpubench {

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  const auto add = [&folders](const std::string& toolkit) {
    for (const char* folder : {"/lib64", "/lib"}) folders.push_back(toolkit + folder);
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* toolkit = std::getenv(variable);
    if (toolkit != nullptr && *toolkit != '\0') add(toolkit);
  }
  add("/usr/local/cuda");
  return folders;
}

void pin(const SharedLibrary& library) {
  // The second handle is never closed, by design.
  if (!library.path().empty()) {
    static_cast<void>(::dlopen(library.path().c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

std::string missing_message(const std::vector<std::string>& sonames,
                            const std::vector<std::string>& searched,
                            const std::vector<std::string>& refused) {
  const std::string places = searched.empty() ? "" : "looked in " + join(searched, "; ") + "; ";
  return join(sonames, " or ") + (refused.empty() ? " not found; " : " can't be loaded; ") +
         places + "install it, or set GPUBENCH_LIB_PATH to its folder";
}

}  // namespace gpubench
