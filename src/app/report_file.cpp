// SPDX-License-Identifier: Apache-2.0
#include "app/report_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "gpubench/error.h"
#include "report/writer.h"
#include "util/file.h"
#include "util/text.h"

namespace gpubench {
namespace {

std::string default_path(const std::string& suite, const std::string& created) {
  std::string stamp =
      created;  // "2026-12-01T03:04:05Z" as "20261201T030405Z": sorts, and is a valid name anywhere
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  std::string name = suite.empty() ? "run" : suite;
  // Every other byte can be a part of a file's name, though control characters would reach
  // terminals by it.
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == '\x7f' || static_cast<unsigned char>(c) < ' '; }, '_');
  constexpr std::size_t kLongestName = 100;  // file systems end at 255 bytes, journals add to it
  if (name.size() > kLongestName) name = valid_utf8(name.substr(0, kLongestName));
  const std::string base = fmt::format("gpubench-{}-{}", name, stamp);
  const auto taken = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) ||
           std::filesystem::exists(path + ".journal", ignored);
  };
  std::string path = base + ".json";
  for (int i = 2; taken(path); ++i) path = fmt::format("{}-{}.json", base, i);  // the same second
  return path;
}

/// The table would end up in the same file as the report.
std::string canonical_out(const std::string& out) {
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    if (out == name) return "-";
  }
  return out;
}

void write_to_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error("E_WRITE", "the report could not be written to stdout");
  }
}

}  // namespace

ReportFile::ReportFile(const std::string& out, const std::string& suite, const Report& header)
    : path_(out.empty() ? default_path(suite, header.created) : canonical_out(out)) {
  if (is_stdout()) return;
  check_writable(path_);
  // Beside something that is no regular file (/dev/null, a pipe) there is nowhere to keep a
  // journal.
  std::error_code error;
  if (std::filesystem::exists(path_, error) && !std::filesystem::is_regular_file(path_, error))
    return;
  journal_ = std::make_unique<Journal>(resolved(path_), header);
}

void ReportFile::append(const Result& result) {
  if (journal_) journal_->append(result);
}

void ReportFile::save(const Report& report) {
  const std::string text = to_json(report);
  try {
    is_stdout() ? write_to_stdout(text) : save_atomically(path_, text);
  } catch (const Error& error) {
    std::error_code no_folder;
    const std::string fallback = (std::filesystem::temp_directory_path(no_folder) /
                                  fmt::format("gpubench-report-{}.json", getpid()))
                                     .string();
    std::string where;
    try {
      if (no_folder) throw Error("E_WRITE", no_folder.message());
      save_atomically(fallback, text);
      where = "; the report was saved as " + fallback;
    } catch (const Error&) {
      where = journal_ ? "; finished cases are in " + journal_->path() : std::string();
    }
    throw Error("E_WRITE", error.what() + where);
  }
  if (!journal_) return;
  journal_->remove();
  if (kept_is_taken_over_) journal_->remove_kept();
}

}  // namespace gpubench
