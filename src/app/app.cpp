// SPDX-License-Identifier: Apache-2.0
#include "app/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "app/arguments.h"
#include "app/say.h"
#include "app/version.h"
#include "gpubench/error.h"
#include "report/text_table.h"
#include "util/text.h"

namespace gpubench {
namespace {

constexpr const char* kAbout =
    "gpubench measures what a GPU node really does and compares it with published peaks.\n"
    "Sizes: K, M, G are binary. Reported: GB = 1e9 bytes, TFLOP/s = 1e12, times in seconds.";
void add_verbs(CLI::App& app, const std::vector<std::string>& command, const Choose& choose) {
  add_run(app, command, choose);
  add_burn(app, command, choose);
  add_list(app, choose);
  add_show(app, choose);
  add_specs(app, choose);
  add_devices(app, choose);
  add_doctor(app, choose);
  add_compare(app, choose);
}

ExitCode code_of(const Error& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return ExitCode::usage;
  if (error.code() == "E_NO_DEVICE") return ExitCode::no_device;
  return ExitCode::case_failed;
}

/// What is wrong with the verb, or empty: CLI11's message would not say what was typed.
std::string wrong_verb(const CLI::App& app, int argc, char** argv) {
  if (argc > 1 && argv[1][0] == '-') return {};
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  const std::string known = fmt::format(" (there are: {}; --help tells more)", join(names, ", "));
  if (argc < 2) return "no verb" + known;
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return {};
  return fmt::format("no verb '{}'{}{}", argv[1], suggestion(argv[1], names), known);
}

/// The option that a word of the command line which looks like one was likely meant to be, as a
/// line; else empty.
std::string likely_option(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    for (const std::string& word : verb->remaining()) {
      if (!word.starts_with("--")) continue;
      const std::string near = nearest(word.substr(0, word.find('=')), names);
      if (!near.empty()) return fmt::format("Did you mean '{}'?\n", near);
    }
  }
  return {};
}

}  // namespace

/// A closed descriptor 0, 1 or 2 would go to the next file that is opened: the journal.
void occupy_standard_files() {
  int file = 0;
  do {
    // Only to read: what is printed to a closed stdout has to be seen to fail.
    file = ::open("/dev/null", O_RDONLY);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file > STDERR_FILENO) ::close(file);
}

/// Results that did not reach stdout are not a success.
int close_output(ExitCode code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return int(code);
  say("gpubench: stdout could not be written\n");
  return int(first_of({code, ExitCode::case_failed}));
}

int run_app(int argc, char** argv) {
  occupy_standard_files();
  // A reader of our output that ends early (`| head`) is seen as a write error, not as a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // Likewise a file that reaches the limit of its size (ulimit -f).
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(kAbout, "gpubench");
  app.set_version_flag(
      "--version", fmt::format("gpubench {} ({})", build_version().version, build_version().git));
  app.require_subcommand(1);
  std::function<ExitCode()> verb;
  add_verbs(app, {argv, argv + argc},
            [&verb](std::function<ExitCode()> chosen) { verb = std::move(chosen); });
  try {
    app.parse(argc, argv);
    return close_output(verb());
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    if (asked_for_help) {
      app.exit(error);
      return close_output(ExitCode::fine);
    }
    const std::string wrong = wrong_verb(app, argc, argv);
    if (wrong.empty()) {
      std::ostringstream complaint;
      app.exit(error, std::cout, complaint);
      say(printable_lines(complaint.str() + likely_option(app)));
    } else {
      say(printable_lines("gpubench: " + wrong + "\n"));
    }
    return int(ExitCode::usage);
  } catch (const Error& error) {
    say(printable_lines(fmt::format("gpubench: {} ({})\n", error.what(), error.code())));
    return int(code_of(error));
  } catch (const std::exception& error) {
    say(printable_lines(fmt::format("gpubench: {}\n", error.what())));
    return int(ExitCode::case_failed);
  }
}

}  // namespace gpubench
