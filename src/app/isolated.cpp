// SPDX-License-Identifier: Apache-2.0
#include "app/isolated.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "app/case_runner.h"
#include "gpubench/error.h"
#include "gpubench/telemetry.h"
#include "report/reader.h"
#include "report/text_table.h"
#include "util/file.h"
#include "util/text.h"

namespace gpubench {
namespace {

/// Less than the watch's grace: this process must still be there to take the result.
constexpr double kKillAfterSeconds = 3;

[[noreturn]] void fail(const std::string& what, int code) {
  throw Error("E_ISOLATE", what + ": " + std::generic_category().message(code));
}

/// Not std::filesystem::temp_directory_path(): its error does not name the folder.
std::string temporary_parent() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::string parent = temporary_parent();
    std::string name = parent + "/gpubench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      fail("no temporary folder in " + parent + " (TMPDIR chooses another)", errno);
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string suite_text(const Case& work, const SamplingPolicy& policy) {
  const nlohmann::json suite{{"name", "isolated"},
                             {"summary", "one case of another run"},
                             {"policy",
                              {{"warmup_s", policy.warmup_s},
                               {"min_time_s", policy.min_time_s},
                               {"max_time_s", policy.max_time_s},
                               {"max_noise", policy.max_noise},
                               {"sample_s", policy.sample_s},
                               {"min_samples", policy.min_samples},
                               {"max_samples", policy.max_samples}}},
                             {"cases",
                              {{{"workload", work.workload->name},
                                {"params", work.params.values()},
                                {"conditions",
                                 {{"cache", to_string(work.conditions.cache)},
                                  {"data", to_string(work.conditions.data)},
                                  {"mode", to_string(work.conditions.mode)},
                                  {"burn", work.conditions.burn ? "1" : "0"}}}}}}};
  return suite.dump();
}

/// An ordinal could mean another card in a process of its own; a UUID can't.
std::string lasting_device_word(const DeviceInfo& info) {
  if (info.kind == DeviceKind::cpu) return "cpu";
  return info.uuid.empty() ? std::to_string(info.index) : info.uuid;
}

std::vector<std::string> command_line(const Case& work, const DeviceInfo& device,
                                      const RunOptions& options, const TemporaryFolder& folder) {
  std::vector<std::string> words{"gpubench",
                                 "run",
                                 "--quiet",
                                 "--suite",
                                 folder.file("suite.json"),
                                 "--out",
                                 folder.file("report.json"),
                                 "--device",
                                 lasting_device_word(device),
                                 "--seed",
                                 std::to_string(work.conditions.seed),
                                 "--memory-reserve",
                                 fmt::format("{}", options.memory_reserve_pct)};
  if (options.no_verify) words.emplace_back("--no-verify");
  if (!options.catalogue.empty()) {
    words.emplace_back("--catalogue");
    words.push_back(options.catalogue);
  }
  return words;
}

/// Between fork and exec only what is safe after a fork of a process with threads.
[[noreturn]] void become(char* const* arguments, pid_t parent, const char* errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before it could be watched
  ::setpgid(0, 0);                          // Ctrl-C is for the parent, which passes it on
  const int null = ::open("/dev/null", O_RDWR);
  const int log = ::open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

pid_t start(std::vector<std::string> words, const std::string& errors) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) fail("no new process", errno);
  if (child == 0) become(arguments.data(), parent, errors.c_str());
  return child;
}

/// The status that waitpid gives.
int wait_for(pid_t child, const std::stop_token& stop) {
  double stopped_at_s = 0;
  bool killed = false;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const double now_s = steady_seconds();
    if (stop.stop_requested() && stopped_at_s == 0) {
      stopped_at_s = now_s;
      ::kill(child, SIGINT);
    }
    if (stopped_at_s > 0 && !killed && now_s - stopped_at_s > kKillAfterSeconds) {
      killed = true;
      ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

std::string last_line(const std::string& path) {
  try {
    std::vector<std::string> lines = split(read_file(path), '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines.empty() ? std::string() : ": " + printable(lines.back());
  } catch (const Error&) {
    return {};
  }
}

Reason crash_reason(int status, const TemporaryFolder& folder) {
  const std::string how = WIFSIGNALED(status) ? fmt::format("signal {} ({})", WTERMSIG(status),
                                                            ::strsignal(WTERMSIG(status)))
                                              : fmt::format("exit code {}", WEXITSTATUS(status));
  return {"E_CRASH",
          "the process of this case ended with " + how + last_line(folder.file("errors"))};
}

}  // namespace

IsolatedResult run_isolated(const Case& work, const ReportDevice& device, int device_index,
                            const SamplingPolicy& policy, const RunOptions& options,
                            const std::stop_token& stop) {
  const TemporaryFolder folder;
  save_atomically(folder.file("suite.json"), suite_text(work, policy));
  const pid_t child =
      start(command_line(work, device.info, options, folder), folder.file("errors"));
  const int status = wait_for(child, stop);
  IsolatedResult isolated;
  try {
    Report report = read_report(folder.file("report.json"));
    if (!report.results.empty()) isolated.result = std::move(report.results.front());
    isolated.libraries = std::move(report.libraries);
  } catch (const Error&) {
    // It ended before it could save one.
  }
  Result& result = isolated.result;
  const bool usable = result.id == work.id && result.status != Status::not_run;
  if (!usable) {
    const Reason stopped{"E_INTERRUPTED", "interrupted while this case was measured"};
    result = unrun_result(work, device_index, lasting_device_word(device.info),
                          stop.stop_requested() ? stopped : crash_reason(status, folder));
    if (!stop.stop_requested()) result.status = Status::failed;
  }
  result.device = device_index;
  return isolated;
}

}  // namespace gpubench
