// SPDX-License-Identifier: Apache-2.0
#include "app/libraries_used.h"

#include <fmt/format.h>

namespace gpubench {

decltype(Report::libraries) loaded_libraries(Libraries& libraries) {
  decltype(Report::libraries) loaded;
  for (const LibraryStatus& status : libraries.statuses(false)) {
    loaded[status.name] = {status.version, status.path};
  }
  return loaded;
}

std::vector<std::string> add_libraries(decltype(Report::libraries)& used,
                                       const decltype(Report::libraries)& loaded) {
  std::vector<std::string> warnings;
  for (const auto& [name, library] : loaded) {
    LibraryVersion& kept = used[name];
    if (library.version.empty()) continue;
    if (!kept.version.empty() && kept.version != library.version) {
      warnings.push_back(
          fmt::format("the resumed results were measured with {} {}, the rest is with {}", name,
                      kept.version, library.version));
    }
    kept = library;
  }
  return warnings;
}

}  // namespace gpubench
