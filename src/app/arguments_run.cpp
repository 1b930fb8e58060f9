// SPDX-License-Identifier: Apache-2.0
// Verbs that measure: run, burn.
#include <memory>

#include "app/arguments.h"
#include "app/validators.h"
#include "app/verbs.h"

namespace gpubench {
namespace {

constexpr const char* kRunFooter =
    "Examples\n"
    "  gpubench run --suite bert\n"
    "  gpubench run ops/gemm m=8K n=8K k=8K dtype=bf16,fp8 impl=auto\n"
    "  gpubench run ops/attention pass=forward,backward causal=0,1 --min-time 2\n"
    "Lists make the cross product. `gpubench show ops/gemm` tells the parameters.";

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& command, const Choose& choose) {
  const auto kept = std::make_shared<RunOptions>();
  RunOptions& options = *kept;
  options.command = command;
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
  run->callback([choose, kept] { choose([kept] { return run_verb(*kept); }); });
}

void add_burn(CLI::App& app, const std::vector<std::string>& command, const Choose& choose) {
  const auto kept = std::make_shared<BurnOptions>();
  BurnOptions& burn = *kept;
  burn.run.command = command;
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
  verb->callback([choose, kept] { choose([kept] { return burn_verb(*kept); }); });
}

}  // namespace gpubench
