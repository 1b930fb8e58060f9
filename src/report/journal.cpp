// SPDX-License-Identifier: Apache-2.0
#include "report/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "gpubench/error.h"
#include "report/reader.h"
#include "report/writer.h"
#include "util/file.h"
#include "util/file_descriptor.h"

namespace gpubench {
namespace {

/// How the writer begins a journal's header, in which no results are; a report begins with a line
/// of its own.
constexpr std::string_view kBegin = "{\"schema\":";
constexpr std::string_view kUnfinished = "\"complete\":false";
constexpr std::string_view kResults = "\"results\"";

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("E_WRITE", "can't write the journal " + path + ": " +
                             std::generic_category().message(error) +
                             "; free some space or choose another --out");
}

/// Two runs into one report would each lose what the other wrote.
[[noreturn]] void refuse_second_run(const std::string& report_path) {
  throw ConfigError("--out " + report_path +
                        ": another run is writing to it; wait for it or choose another --out",
                    "E_OUTPUT");
}

/// False if another run holds the file. The lock goes with the process, however that ends; where
/// the file system has no locks there is none to respect.
bool lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

/// Whether the path still names the file: a run that started at the same moment may have moved it
/// before it was locked.
bool is_at(int file, const std::string& path) {
  struct stat opened = {}, named = {};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

enum class Found { nothing_recorded, finished_cases, something_else };

/// What the path names: a journal is known by its first line. One that can't be read to its end is
/// worth keeping all the same.
Found found_at(int file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return Found::something_else;
  if (status.st_size == 0) return Found::nothing_recorded;
  const std::string text = read_file(path);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) {  // a header may have been written in part
    return text.starts_with(kBegin) ? Found::nothing_recorded : Found::something_else;
  }
  if (!is_journal_header(std::string_view(text).substr(0, end))) return Found::something_else;
  const bool more = text.find('\n', end + 1) != std::string::npos;
  return more ? Found::finished_cases : Found::nothing_recorded;
}

/// The path itself or the first of PATH2, PATH3, ... that does not exist.
std::string free_name(const std::string& path) {
  const auto taken = [](const std::string& name) {
    struct stat ignored = {};
    return ::lstat(name.c_str(), &ignored) == 0;
  };
  std::string name = path;
  for (int i = 2; taken(name); ++i) name = path + std::to_string(i);
  return name;
}

}  // namespace

bool is_journal_header(std::string_view line) {
  return line.starts_with(kBegin) && line.find(kUnfinished) != std::string_view::npos &&
         line.find(kResults) == std::string_view::npos;
}

Journal::Journal(const std::string& report_path, const Report& header)
    : path_(report_path + ".journal") {
  make_way(report_path);
  try {
    begin(report_path, header);
  } catch (...) {
    // No destructor runs for a constructor that throws. The earlier run's journal goes back to
    // where whoever repeats this command looks for it, unless another run has begun one there
    // meanwhile: link() replaces nothing, rename() would.
    remove();
    if (!kept_.empty() && ::link(kept_.c_str(), path_.c_str()) == 0) ::unlink(kept_.c_str());
    throw;
  }
}

void Journal::make_way(const std::string& report_path) {
  const FileDescriptor earlier(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!earlier.valid()) return;
  if (!lock(earlier.get())) refuse_second_run(report_path);
  switch (found_at(earlier.get(), path_)) {
    case Found::nothing_recorded:
      if (::unlink(path_.c_str()) != 0) fail(path_, errno);
      return;
    case Found::finished_cases:
      kept_ = free_name(path_ + ".old");
      if (std::rename(path_.c_str(), kept_.c_str()) != 0) fail(path_, errno);
      return;
    case Found::something_else:
      throw ConfigError("--out " + report_path + ": what is at " + path_ +
                            " is no journal; move it or choose another --out",
                        "E_OUTPUT");
  }
}

void Journal::begin(const std::string& report_path, const Report& header) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0 && errno == EEXIST) refuse_second_run(report_path);
  if (file_ < 0) fail(path_, errno);
  if (!lock(file_) || !is_at(file_, path_)) {
    ::close(file_);
    file_ = -1;  // another run's
    refuse_second_run(report_path);
  }
  write_line(header_line(header));
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

void Journal::append(const Result& result) { write_line(result_line(result)); }

void Journal::remove() noexcept {
  if (file_ < 0) return;
  ::close(file_);
  file_ = -1;
  ::unlink(path_.c_str());
}

void Journal::remove_kept() noexcept {
  if (!kept_.empty()) ::unlink(kept_.c_str());
}

void Journal::write_line(std::string line) {
  line += '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(file_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(file_) != 0) fail(path_, errno);
}

JournalContents read_journal(const std::string& path) {
  const std::string text = read_file(path);
  JournalContents contents;
  Report& report = contents.report;
  std::size_t number = 0;
  std::size_t begin = 0;
  // What follows the last newline was being written when the process ended.
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line(text.data() + begin, end - begin);
    const std::string origin = path + " line " + std::to_string(++number);
    if (number == 1) {
      report = parse_header(line, origin);
    } else {
      report.results.push_back(parse_result(line, origin));
      const int device = report.results.back().device;
      if (device < 0 || device >= static_cast<int>(report.devices.size())) {
        throw ConfigError(origin + ": the result is of a device that the header lacks");
      }
    }
    begin = end + 1;
  }
  report.complete = false;
  contents.torn = begin < text.size();
  if (number == 0) throw ConfigError(path + ": no complete line: nothing was recorded");
  return contents;
}

}  // namespace gpubench
