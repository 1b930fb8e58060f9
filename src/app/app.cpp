// SPDX-License-Identifier: Apache-2.0
#include "app/app.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "app/say.h"
#include "app/verbs.h"
#include "app/version.h"
#include "gpubench/error.h"
#include "report/text_table.h"
#include "util/text.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr const char* kAbout =
    "gpubench measures what a GPU node really does and compares it with published peaks.\n"
    "Sizes: K, M, G are binary. Reported: GB = 1e9 bytes, TFLOP/s = 1e12, times in seconds.";
constexpr const char* kRunFooter =
    "Examples\n"
    "  gpubench run --suite bert\n"
    "  gpubench run ops/gemm m=8K n=8K k=8K dtype=bf16,fp8 impl=auto\n"
    "  gpubench run ops/attention pass=forward,backward causal=0,1 --min-time 2\n"
    "Lists make the cross product. `gpubench show ops/gemm` tells the parameters.";

/// A number within bounds. CLI11's own conversion follows the locale and takes "nan" and "inf".
CLI::Validator real_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        const std::optional<double> value = parse_real(text);
        if (value && *value >= low && *value <= high) return std::string();
        return fmt::format("'{}' is not a number from {} to {}", text, low, high);
      },
      "NUMBER");
}

/// CLI11 would take "-1" for an unsigned number and wrap it around.
CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        const std::optional<std::int64_t> value = parse_integer(text);
        if (value && *value >= 0) return std::string();
        return fmt::format("'{}' is not a whole number from 0 to {}", text,
                           std::numeric_limits<std::int64_t>::max());
      },
      "N");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "TEXT");
}

void add_catalogue(CLI::App* verb, std::string& file) {
  verb->add_option("--catalogue", file, "A file of own entries, added to the shipped devices")
      ->check(not_empty());
}

void add_run(CLI::App& app, RunOptions& options, std::function<void()> chosen) {
  CLI::App* run = app.add_subcommand("run", "Measure cases and write a report");
  run->add_option(
      "words", options.words,
      "WORKLOAD key=value[,value]... [WORKLOAD ...]; or 'ID', a case as a report names it");
  run->add_option("--suite", options.suite, "A shipped suite, or a file: ./mine.json")
      ->check(not_empty());
  run->add_option("-d,--device", options.device,
                  "0 | 0,1 | UUID | PCI id | all | cpu (default: GPU 0)")
      ->check(not_empty());
  run->add_option("--filter", options.filters,
                  "Only cases that match this glob (may be given again)")
      ->check(not_empty())
      ->allow_extra_args(false);
  run->add_option("-o,--out,--json", options.out,
                  "Report file, or - for stdout (default: a new file here)")
      ->check(not_empty());
  add_catalogue(run, options.catalogue);
  run->add_option("--resume", options.resume,
                  "Take up a run that did not end: its journal (FILE.journal) or its report")
      ->check(not_empty());
  run->add_option("--min-time", options.min_time_s, "Least sampling time of a case, in seconds")
      ->check(real_between(0, 3600));
  run->add_option("--max-time", options.max_time_s, "Most sampling time of a case, in seconds")
      ->check(real_between(0.001, 36000));
  run->add_option("--max-noise", options.max_noise_pct,
                  "Stop when the 95 % interval of the median is within this many percent")
      ->check(real_between(0.001, 100));
  run->add_option("-w,--warmup", options.warmup_s, "Most seconds of load before sampling")
      ->check(real_between(0, 600));
  run->add_option("--time-limit", options.time_limit_s,
                  "Start no case after this many seconds (exit code 124)")
      ->check(real_between(0.001, 1e7));
  run->add_option("--timeout", options.timeout_s,
                  "Give up on a case after this many seconds (status timeout) and go on")
      ->check(real_between(0.001, 1e7));
  run->add_option("--data", options.data, "normal | uniform | zeros | ones")->capture_default_str();
  run->add_option("--seed", options.seed, "Seed of the data")
      ->check(whole_number())
      ->capture_default_str();
  run->add_option("--cache", options.cache, "cold | hot")->capture_default_str();
  run->add_option("--mode", options.mode,
                  "sustained | burst: each sample after a rest, before the clocks give way")
      ->capture_default_str();
  run->add_option("--memory-reserve", options.memory_reserve_pct,
                  "Percent of device memory to keep free")
      ->check(real_between(0, 95))
      ->capture_default_str();
  run->add_flag("--no-verify", options.no_verify, "Do not compare results with a reference");
  run->add_flag("--dry-run", options.dry_run,
                "Print the cases and the memory they need, run nothing");
  run->add_flag(
      "--profile", options.profile,
      "For ncu and nsys: one iteration of each case between profiler start and stop, in an "
      "NVTX range named as the case; nothing is measured");
  run->add_option("--pair", options.pair,
                  "Sample cases in turn that differ only in these, and compare them: --pair impl")
      ->delimiter(',')
      ->check(not_empty())
      ->allow_extra_args(false);
  run->add_flag("--isolate", options.isolate,
                "Run each case in a process of its own: a crash or a lost device ends only that");
  run->add_option("--repeat", options.repeat,
                  "Run each case this often, each time in a new process; the middle run counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  run->add_flag("--fail-fast", options.fail_fast, "Stop after the first case that fails");
  run->add_flag("--fail-on-skip", options.fail_on_skip, "A skipped case makes the exit code 1");
  run->add_flag("-q,--quiet", options.quiet, "No progress");
  run->footer(kRunFooter);
  run->callback(std::move(chosen));
}

void add_burn(CLI::App& app, BurnOptions& burn, std::function<void()> chosen) {
  CLI::App* verb = app.add_subcommand(
      "burn", "Hold a constant load on all GPUs and compare what it computes bit by bit");
  verb->add_option("words", burn.run.words,
                   "WORKLOAD key=value... (default: a large BF16 ops/gemm)");
  verb->add_option("--minutes", burn.minutes, "How long, for each case")
      ->check(real_between(0.001, 10080))
      ->capture_default_str();
  verb->add_option("-d,--device", burn.run.device,
                   "0 | 0,1 | UUID | PCI id | all | cpu (default: all)")
      ->check(not_empty());
  verb->add_option("-o,--out,--json", burn.run.out, "Report file, or - for stdout")
      ->check(not_empty());
  add_catalogue(verb, burn.run.catalogue);
  verb->add_flag("-q,--quiet", burn.run.quiet, "No progress");
  verb->footer(
      "Exit code 4: something was computed differently from one iteration to the next, or wrong.");
  verb->callback(std::move(chosen));
}

struct Arguments {
  RunOptions run;
  BurnOptions burn;
  SpecsOptions specs;
  std::string name, catalogue, base, other;
  std::vector<std::string> match;
  bool json = false;
};

void add_verbs(CLI::App& app, Arguments& arguments, std::function<ExitCode()>& verb) {
  add_run(app, arguments.run, [&] { verb = [&] { return run_verb(arguments.run); }; });

  add_burn(app, arguments.burn, [&] { verb = [&] { return burn_verb(arguments.burn); }; });

  app.add_subcommand("list", "Workloads and suites")->callback([&] { verb = list_verb; });

  CLI::App* show = app.add_subcommand("show", "Parameters of a workload, or cases of a suite");
  show->add_option("name", arguments.name, "Workload or suite")->required();
  show->callback([&] { verb = [&] { return show_verb(arguments.name); }; });

  CLI::App* specs = app.add_subcommand("specs", "Published peaks of known devices, with sources");
  specs->add_option("id", arguments.specs.id, "One entry, with its sources");
  specs->add_flag("--json", arguments.specs.json, "As JSON");
  specs->add_flag("--check", arguments.specs.check, "Look for figures that contradict one another");
  add_catalogue(specs, arguments.specs.catalogue);
  specs->callback([&] { verb = [&] { return specs_verb(arguments.specs); }; });

  CLI::App* devices =
      app.add_subcommand("devices", "GPUs of this machine and their catalogue entries");
  devices->add_flag("--json", arguments.json, "As JSON");
  add_catalogue(devices, arguments.catalogue);
  devices->callback(
      [&] { verb = [&] { return devices_verb(arguments.json, arguments.catalogue); }; });

  app.add_subcommand("doctor", "Driver, libraries and where they were looked for")->callback([&] {
    verb = doctor_verb;
  });

  CLI::App* compare =
      app.add_subcommand("compare", "Set two reports against each other, case by case");
  compare->add_option("A", arguments.base, "Base report")->required();
  compare->add_option("B", arguments.other, "Report to compare with it")->required();
  compare
      ->add_option("--match", arguments.match,
                   "Parameters to leave out when pairing cases, e.g. impl")
      ->delimiter(',')
      ->allow_extra_args(false);
  compare->callback([&] {
    verb = [&] { return compare_verb(arguments.base, arguments.other, arguments.match); };
  });
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
  Arguments arguments;
  arguments.run.command.assign(argv, argv + argc);
  arguments.burn.run.command = arguments.run.command;
  std::function<ExitCode()> verb;
  add_verbs(app, arguments, verb);
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
