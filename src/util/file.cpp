// SPDX-License-Identifier: Apache-2.0
#include "util/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "gpubench/error.h"
#include "util/file_descriptor.h"

namespace gpubench {
namespace {

/// Far above any report: with all samples of a thousand cases one has some 100 MB.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::string errno_text(int code) { return std::generic_category().message(code); }

/// Removes the temporary file unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::optional<struct stat> stat_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// A new file in `folder`, with the permissions that the umask leaves. -1 and errno if that fails.
int create_temporary(const std::string& folder, std::string& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    path = folder + "/.gpubench-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) +
           ".tmp";
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw Error("E_WRITE", "cannot write " + path + ": " + errno_text(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_directly(const std::string& path, std::string_view text) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) throw Error("E_WRITE", "cannot open " + path + ": " + errno_text(errno));
  write_all(file.get(), text, path);
  if (file.close() != 0) throw Error("E_WRITE", "cannot write " + path + ": " + errno_text(errno));
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ConfigError("cannot write to '" + path + "': " + why + "; choose another --out path",
                    "E_OUTPUT");
}

}  // namespace

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

std::string read_file(const std::string& path) {
  const auto fail = [&](int code) -> std::string {
    throw ConfigError("cannot read '" + path + "': " + errno_text(code));
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno);
  std::string text;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno);  // a folder fails here: "Is a directory"
    if (count == 0) return text;
    if (text.size() > kMostBytes) return fail(EFBIG);  // such as /dev/zero, which has no end
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

void save_atomically(const std::string& path, std::string_view text) {
  const auto fail = [&](const char* step) {
    throw Error("E_WRITE", "cannot " + std::string(step) + " " + path + ": " + errno_text(errno));
  };
  const std::optional<struct stat> existing = stat_of(path);
  if (existing && !S_ISREG(existing->st_mode)) return write_directly(path, text);

  const std::string target = resolved(path);
  std::string temporary_path;
  FileDescriptor file(create_temporary(folder_of(target), temporary_path));
  if (!file.valid()) fail("create a file beside");
  TemporaryFile temporary(temporary_path);
  if (existing && ::fchmod(file.get(), existing->st_mode & 07777) != 0) fail("set permissions of");
  write_all(file.get(), text, path);
  // EINVAL: a file system without fsync; the rename is still atomic for readers.
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail("write");
  if (file.close() != 0) fail("write");
  if (::rename(temporary.path().c_str(), target.c_str()) != 0) fail("replace");
  temporary.keep();
}

void check_writable(const std::string& path) {
  if (path.empty()) refuse(path, "the path is empty");
  const std::optional<struct stat> existing = stat_of(path);
  const int stat_error = existing ? 0 : errno;
  if (!existing && stat_error != ENOENT) refuse(path, errno_text(stat_error));
  if (existing && S_ISDIR(existing->st_mode)) refuse(path, "it is a folder");
  if (!existing && path.back() == '/') refuse(path, "it names a folder");
  struct stat link {};
  if (!existing && ::lstat(path.c_str(), &link) == 0) {
    refuse(path, "it is a link to a file that does not exist");
  }
  if (existing && ::access(path.c_str(), W_OK) != 0) refuse(path, errno_text(errno));
  if (existing && !S_ISREG(existing->st_mode)) return;

  const std::string folder = folder_of(resolved(path));
  const std::optional<struct stat> parent = stat_of(folder);
  if (!parent) refuse(path, "the folder '" + folder + "' does not exist");
  std::string temporary_path;
  const FileDescriptor file(create_temporary(folder, temporary_path));
  if (!file.valid()) refuse(path, "no new file in '" + folder + "': " + errno_text(errno));
  const TemporaryFile removed(temporary_path);
}

}  // namespace gpubench
