// SPDX-License-Identifier: Apache-2.0
// A shared library that is loaded on first use, so that the executable starts where it is missing.
//   auto found = SharedLibrary::open({"libcudnn.so.9"}, {"/opt/cuda/lib64"});
//   if (!found.library) ...  // found.searched says where it was looked for
//   auto create = found.library->symbol<cudnnStatus_t (*)(cudnnHandle_t*)>("cudnnCreate");
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpubench {

struct LibrarySearch;

class SharedLibrary {
 public:
  /// RTLD_LOCAL keeps symbols to the handle; `global` lends them to libraries that are loaded
  /// later.
  enum class Visibility { local, global };

  /// Tries each soname in the folders of $GPUBENCH_LIB_PATH (a colon list), in `folders`, and then
  /// by the loader's own path; all sonames in one place before the next place. A soname that holds
  /// a '/' is a path: only it is tried. Not finding it is no error.
  static LibrarySearch open(const std::vector<std::string>& sonames,
                            const std::vector<std::string>& folders = {},
                            Visibility visibility = Visibility::local);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  /// Throws LibraryError E_SYMBOL naming library, path and symbol.
  template <class Fn>
  Fn symbol(const char* name) const {
    return reinterpret_cast<Fn>(find(name, true));
  }
  /// nullptr if the library has no such symbol.
  template <class Fn>
  Fn try_symbol(const char* name) const {
    return reinterpret_cast<Fn>(find(name, false));
  }

  const std::string& soname() const { return soname_; }
  /// Where it was found, symbolic links resolved.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string soname);
  void* find(const char* name, bool required) const;

  void* handle_ = nullptr;
  std::string soname_;
  std::string path_;
};

/// Outcome of a search.
struct LibrarySearch {
  std::optional<SharedLibrary> library;
  std::string path;                   ///< of the library found; empty if none
  std::vector<std::string> searched;  ///< "PLACE: the loader's error" for each failed attempt
  std::vector<std::string> refused;   ///< those of `searched` where there is such a file
};

}  // namespace gpubench
