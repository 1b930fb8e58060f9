// SPDX-License-Identifier: Apache-2.0
#include "report/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "report/reader.h"
#include "report/writer.h"
#include "util/file.h"

namespace gpubench {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("E_WRITE", "can't write the journal " + path + ": " +
                             std::generic_category().message(error) +
                             "; free some space or choose another --out");
}

}  // namespace

Journal::Journal(const std::string& report_path, const Report& header)
    : path_(report_path + ".journal") {
  if (::access(path_.c_str(), F_OK) == 0) {
    kept_ = path_ + ".old";
    if (std::rename(path_.c_str(), kept_.c_str()) != 0) fail(path_, errno);
  }
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) fail(path_, errno);
  try {
    write_line(header_line(header));
  } catch (...) {
    ::close(file_);  // no destructor runs for a constructor that throws
    throw;
  }
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

Report read_journal(const std::string& path) {
  const std::string text = read_file(path);
  Report report;
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
  if (number == 0) throw ConfigError(path + ": no complete line: nothing was recorded");
  return report;
}

}  // namespace gpubench
