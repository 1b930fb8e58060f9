// SPDX-License-Identifier: Apache-2.0
#include "ops/all_reduce/job.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/formulas.h"
#include "gpubench/world.h"
#include "ops/all_reduce/pattern_backend.h"
#include "ops/all_reduce/providers.h"
#include "ops/support/op_job.h"
#include "util/units.h"

namespace gpubench {
namespace {

constexpr std::uint64_t kCheckBytes = 256;  // PatternFaults, in an allocation of its own

/// The outcome on all ranks: failed where it failed on one, whose words are kept.
Check of_all_ranks(World& world, Check mine) {
  mine.error = world.max(mine.error);
  const std::string words = mine.passed ? std::string() : "!" + mine.detail;
  const std::vector<World::Bytes> all = world.gather(std::as_bytes(std::span(words)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    std::string detail(all[rank].size() - 1, '\0');
    std::memcpy(detail.data(), all[rank].data() + 1, detail.size());
    mine.passed = false;
    mine.detail = all.size() == 1 ? detail : fmt::format("rank {}: {}", rank, detail);
    break;
  }
  return mine;
}

class AllReduceJob : public Job {
 public:
  AllReduceJob(Context& context, const AllReduceProblem& problem, std::string_view impl,
               std::unique_ptr<Plan> plan)
      : device_(context.device),
        world_(*context.world),
        problem_(problem),
        data_(context.conditions.data),
        seed_(context.conditions.seed),
        backend_(pattern_backend(device_.info().kind)),
        pattern_(all_reduce_pattern(problem, world_.size(), seed_)),
        sets_(context, all_reduce_operands(problem)),
        plan_(plant_fault(device_, std::move(plan), sets_.operands(), context.conditions.fault)) {
    // Ranks that rotated through different numbers of sets would wait for one another in verify().
    const auto sets = static_cast<double>(sets_.sets());
    const double most = world_.max(sets), least = -world_.max(-sets);
    if (most != least) {
      throw Unsupported("E_UNSUPPORTED_WORLD",
                        "the devices of the ranks have L2 caches of different sizes; take devices "
                        "of one kind, or --cache hot");
    }
    fill_with_data(context.stream);  // another on every rank
    info_.impl = impl;
    info_.algorithm = plan_->algorithm();
    info_.emulated = device_.info().kind == DeviceKind::cpu;
    info_.compute_type =
        info_.emulated && problem.type != ReduceType::int32 ? "fp32" : to_string(problem.type);
    info_.memory_bytes = sets_.bytes();
    if (world_.size() == 1) info_.warnings.emplace_back("W_WORLD_OF_ONE");
    const std::uint64_t rotated = (sets_.sets() - 1) * sets_.bytes_per_set();
    if (context.conditions.cache == CacheMode::cold && rotated < 2 * device_.info().l2_bytes) {
      info_.warnings.emplace_back("W_CACHE_RESIDENT");
    }
  }

  void enqueue(Stream& stream, std::size_t iteration) override {
    run(stream, iteration % sets_.sets());
  }
  std::size_t sets() const override { return sets_.sets(); }
  Work work() const override {
    return all_reduce_work(problem_.count, reduce_type_bytes(problem_.type), world_.size());
  }
  JobInfo info() const override { return info_; }

  Check verify(Stream& stream) override {
    Check check;
    check.passed = true;
    check.reference = "whole numbers that add up exactly, every element on every rank";
    // In place, what is not written stays this rank's input, which is no sum of several ranks'.
    for (std::size_t set = 0; set < sets_.sets(); ++set) sets_.poison_outputs(stream, set);
    backend_.fill(stream, input(0), pattern_, world_.rank(), problem_.count);
    copy_input_to_other_sets(stream);
    for (std::size_t set = 0; set < sets_.sets(); ++set) {
      run(stream, set);
      stream.synchronize();
      const PatternFaults faults =
          backend_.check(device_, stream, sets_.set(set).back(), pattern_, problem_.count);
      if (faults.wrong == 0 || !check.passed) continue;
      check.passed = false;
      check.error =
          faults.nonfinite > 0 ? std::numeric_limits<double>::infinity() : faults.max_error;
      check.detail = fmt::format(
          "buffer set {} of {}: {} of {} elements wrong ({} not finite), "
          "the first at {}",
          set, sets_.sets(), faults.wrong, problem_.count, faults.nonfinite, faults.first);
    }
    fill_with_data(stream);
    return of_all_ranks(world_, std::move(check));
  }

 private:
  void run(Stream& stream, std::size_t set) { plan_->run(stream, sets_.set(set), nullptr); }

  void* input(std::size_t set) const { return sets_.set(set).front(); }

  void copy_input_to_other_sets(Stream& stream) {
    const Operand& operand = sets_.operands().front();
    const std::size_t bytes =
        operand.count * storage_bytes(storage_dtype(device_.info().kind, operand.dtype));
    for (std::size_t set = 1; set < sets_.sets(); ++set) {
      device_.copy_on_device(stream, input(set), input(0), bytes);
    }
  }

  /// What is measured is the data that were asked for, not the pattern.
  void fill_with_data(Stream& stream) {
    fill_operand(device_, stream, input(0), sets_.operands().front(), data_, seed_,
                 static_cast<std::size_t>(world_.rank()));
    copy_input_to_other_sets(stream);
    stream.synchronize();
  }

  Device& device_;
  World& world_;
  AllReduceProblem problem_;
  DataDist data_;
  std::uint64_t seed_;
  PatternBackend backend_;
  ReducePattern pattern_;
  OperandSets sets_;
  std::unique_ptr<Plan> plan_;
  JobInfo info_;
};

}  // namespace

std::unique_ptr<Job> make_all_reduce_job(Context& context, const AllReduceProblem& problem,
                                         const std::string& impl) {
  return make_all_reduce_job(context, problem,
                             select(all_reduce_providers(), context.device.info(), problem, impl));
}

std::unique_ptr<Job> make_all_reduce_job(Context& context, const AllReduceProblem& problem,
                                         const Provider<AllReduceProblem>& provider) {
  if (context.world == nullptr) throw Error("E_INTERNAL", "an all-reduce needs a world");
  if (problem.in_place && context.world->size() == 1) {
    throw Unsupported("E_UNSUPPORTED_WORLD",
                      "an in-place all-reduce of one rank does nothing: there is nothing to "
                      "measure; take inplace=0");
  }
  // Before a communicator is made: it may refuse.
  static_cast<void>(all_reduce_pattern(problem, context.world->size(), context.conditions.seed));
  return std::make_unique<AllReduceJob>(context, problem, provider.name,
                                        provider.plan(context, problem));
}

std::uint64_t all_reduce_footprint(const DeviceInfo& device, const Conditions& conditions,
                                   const AllReduceProblem& problem) {
  return checked_add({op_job_footprint(device, conditions, all_reduce_operands(problem),
                                       /*references=*/false),
                      kCheckBytes});
}

}  // namespace gpubench
