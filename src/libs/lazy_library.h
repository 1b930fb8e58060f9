// SPDX-License-Identifier: Apache-2.0
// A library that is loaded on first use, or remembers why it can't be. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpubench/error.h"
#include "libs/libraries.h"
#include "util/shared_library.h"

namespace gpubench {

/// Folders of a CUDA toolkit: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda. Never its stubs.
std::vector<std::string> toolkit_folders();

/// Keeps a library in the process when its handle is closed: NVIDIA's and threaded math libraries
/// leave threads and exit handlers behind that must not point into unmapped code.
void pin(const SharedLibrary& library);

/// "X or Y not found; [looked in ...;] install it, or set GPUBENCH_LIB_PATH to its folder". Where a
/// file was there but could not be loaded, it says that instead.
std::string missing_message(const std::vector<std::string>& sonames,
                            const std::vector<std::string>& searched,
                            const std::vector<std::string>& refused);

/// Needs `version()` and `path()` of Api.
template <class Api>
class LazyLibrary {
 public:
  using Make = std::function<std::unique_ptr<Api>(SharedLibrary)>;

  LazyLibrary(std::string name, std::vector<std::string> sonames, std::vector<std::string> folders,
              Make make)
      : sonames_(std::move(sonames)), folders_(std::move(folders)), make_(std::move(make)) {
    status_.name = std::move(name);
    status_.problem = "not used yet";
  }

  /// Throws Unsupported E_LIBRARY_MISSING, or the LibraryError that makes the library unusable.
  Api& get() {
    const std::lock_guard lock(mutex_);
    load();
    if (api_) return *api_;
    if (unusable_ && unusable_->code != kMissing) {
      throw LibraryError(unusable_->code, unusable_->message);
    }
    throw Unsupported(kMissing, unusable_
                                    ? unusable_->message
                                    : missing_message(sonames_, status_.searched, status_.refused));
  }

  /// nullptr where get() would throw.
  Api* try_get() {
    const std::lock_guard lock(mutex_);
    load();
    return api_.get();
  }

  LibraryStatus status(bool load_now) {
    const std::lock_guard lock(mutex_);
    if (load_now) load();
    return status_;
  }

 private:
  static constexpr const char* kMissing = "E_LIBRARY_MISSING";

  void load() {
    if (tried_) return;
    tried_ = true;
    std::vector<std::string> candidates = sonames_;
    while (!candidates.empty()) {
      LibrarySearch search = SharedLibrary::open(candidates, folders_);
      status_.searched.insert(status_.searched.end(), search.searched.begin(),
                              search.searched.end());
      status_.refused.insert(status_.refused.end(), search.refused.begin(), search.refused.end());
      if (!search.library) break;
      const std::string soname = search.library->soname();
      try {
        use(std::move(*search.library));
        return;
      } catch (const Error& error) {
        // Another candidate may do: not every build of a library has every function.
        status_.searched.push_back(search.path + ": " + error.what());
        status_.refused.push_back(status_.searched.back());
        if (!unusable_) unusable_ = error.reason();
        std::erase(candidates, soname);
      }
    }
    status_.problem =
        unusable_ ? unusable_->message : missing_message(sonames_, {}, status_.refused);
  }

  void use(SharedLibrary library) {
    pin(library);
    api_ = make_(std::move(library));
    unusable_.reset();
    status_.loaded = true;
    status_.version = api_->version();
    status_.path = api_->path();
    status_.problem.clear();
    status_.searched.clear();
  }

  std::mutex mutex_;
  std::vector<std::string> sonames_, folders_;
  Make make_;
  bool tried_ = false;
  std::unique_ptr<Api> api_;
  std::optional<Reason> unusable_;
  LibraryStatus status_;
};

/// A library of which only the version is asked.
class ProbedLibrary {
 public:
  ProbedLibrary(SharedLibrary library, std::string version)
      : library_(std::move(library)), version_(std::move(version)) {}
  const std::string& version() const { return version_; }
  const std::string& path() const { return library_.path(); }

 private:
  SharedLibrary library_;
  std::string version_;
};

}  // namespace gpubench
