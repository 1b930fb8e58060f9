// SPDX-License-Identifier: Apache-2.0
#include "util/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "gpubench/error.h"
#include "util/file.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : valid_utf8(text);
}

/// The file behind a handle, symbolic links resolved; empty where the loader does not say.
std::string real_path(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return resolved(map->l_name);
}

/// Folders that are searched before the loader's own path.
std::vector<std::string> search_folders(const std::vector<std::string>& extra) {
  std::vector<std::string> folders;
  if (const char* list = std::getenv("GPUBENCH_LIB_PATH"); list != nullptr) {
    for (std::string& folder : split(list, ':')) {
      if (!folder.empty()) folders.push_back(std::move(folder));
    }
  }
  folders.insert(folders.end(), extra.begin(), extra.end());
  return folders;
}

}  // namespace

SharedLibrary::SharedLibrary(void* handle, std::string soname)
    : handle_(handle), soname_(std::move(soname)), path_(real_path(handle)) {}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept { *this = std::move(other); }

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(soname_, other.soname_);
  std::swap(path_, other.path_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

LibrarySearch SharedLibrary::open(const std::vector<std::string>& sonames,
                                  const std::vector<std::string>& folders, Visibility visibility) {
  const int mode = RTLD_NOW | (visibility == Visibility::global ? RTLD_GLOBAL : RTLD_LOCAL);
  LibrarySearch search;
  const auto attempt = [&](const std::string& soname, const std::string& place,
                           const std::string& where) {
    void* handle = ::dlopen(place.c_str(), mode);
    if (handle == nullptr) {
      const std::string error = loader_error();
      const std::string told = place + ": ";  // by most of the loader's errors, too
      search.searched.push_back(where + ": " +
                                (error.starts_with(told) ? error.substr(told.size()) : error));
      if (::access(place.c_str(), F_OK) == 0) search.refused.push_back(search.searched.back());
      return false;
    }
    search.library = SharedLibrary(handle, soname);
    search.path = search.library->path();
    return true;
  };
  for (const std::string& folder : search_folders(folders)) {
    for (const std::string& soname : sonames) {
      if (soname.find('/') != std::string::npos) continue;
      const std::string place = folder + "/" + soname;
      if (attempt(soname, place, place)) return search;
    }
  }
  for (const std::string& soname : sonames) {
    const bool is_path = soname.find('/') != std::string::npos;
    if (attempt(soname, soname, is_path ? soname : "loader path, " + soname)) return search;
  }
  return search;
}

void* SharedLibrary::find(const char* name, bool required) const {
  void* address = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
  if (address == nullptr && required) {
    throw LibraryError("E_SYMBOL",
                       soname_ + " (" + path_ + ") has no symbol " + name +
                           "; install another version, or set GPUBENCH_LIB_PATH to its folder");
  }
  return address;
}

}  // namespace gpubench
