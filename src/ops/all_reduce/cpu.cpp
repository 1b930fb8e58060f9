// SPDX-License-Identifier: Apache-2.0
// Provider `cpu`: the ranks are threads of this process and read one another's memory. Rank r
// reduces the r-th part of the array for all, then each takes the other parts from whoever made
// them, as a ring does over links.
#include <algorithm>
#include <cstring>
#include <vector>

#include "gpubench/world.h"
#include "ops/all_reduce/providers.h"

namespace gpubench {
namespace {

float added(float a, float b) { return a + b; }
/// As hardware does: what does not fit wraps around.
std::int32_t added(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

class CpuAllReduce : public Plan {
 public:
  CpuAllReduce(World& world, const AllReduceProblem& problem) : world_(world), problem_(problem) {}
  std::size_t workspace_bytes() const override { return 0; }
  std::string algorithm() const override {
    return std::to_string(world_.size()) + (world_.size() == 1 ? " rank" : " ranks") +
           " in host memory";
  }

  void run(Stream&, std::span<void* const> operands, void*) override {
    if (problem_.type == ReduceType::int32) {
      reduce<std::int32_t>(operands.front(), operands.back());
    } else {
      reduce<float>(operands.front(), operands.back());
    }
  }

 private:
  struct Pointers {
    const void* in;
    void* out;
  };

  std::size_t part_begin(std::size_t rank) const {
    const auto ranks = static_cast<std::size_t>(world_.size());
    const std::size_t count = problem_.count, size = count / ranks, rest = count % ranks;
    return rank * size + std::min(rank, rest);
  }

  /// Every rank's buffers; all are filled by then.
  std::vector<Pointers> exchange(const void* in, void* out) {
    const Pointers mine{in, out};
    std::vector<Pointers> all;
    for (const World::Bytes& bytes : world_.gather(std::as_bytes(std::span(&mine, 1)))) {
      Pointers pointers{};
      if (bytes.size() != sizeof(pointers)) throw Error("E_WORLD_ORDER", "not the same call");
      std::memcpy(&pointers, bytes.data(), sizeof(pointers));
      all.push_back(pointers);
    }
    return all;
  }

  template <class T>
  T reduced(const std::vector<Pointers>& all, std::size_t index) const {
    T value = static_cast<const T*>(all[0].in)[index];
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      const T other = static_cast<const T*>(all[rank].in)[index];
      value = problem_.op == ReduceOp::max ? std::max(value, other) : added(value, other);
    }
    if (problem_.op == ReduceOp::avg) value /= static_cast<T>(all.size());
    return value;
  }

  template <class T>
  void reduce(const void* in, void* out) {
    const std::vector<Pointers> all = exchange(in, out);
    const auto rank = static_cast<std::size_t>(world_.rank());
    const Dtype dtype = reduce_dtype(problem_.type);
    T* mine = static_cast<T*>(out);
    for (std::size_t i = part_begin(rank); i < part_begin(rank + 1); ++i) {
      mine[i] = reduced<T>(all, i);
      if constexpr (std::is_same_v<T, float>) mine[i] = round_to(dtype, mine[i]);
    }
    world_.barrier();  // all parts are made
    for (std::size_t from = 0; from < all.size(); ++from) {
      if (from == rank) continue;
      const std::size_t begin = part_begin(from), size = part_begin(from + 1) - begin;
      std::copy_n(static_cast<const T*>(all[from].out) + begin, size, mine + begin);
    }
    world_.barrier();  // all parts are taken: the buffers may change
  }

  World& world_;
  AllReduceProblem problem_;
};

Support supports(const DeviceInfo& device, const AllReduceProblem&) {
  if (device.kind == DeviceKind::cpu) return Support::yes();
  return Support::no("E_UNSUPPORTED_DEVICE", "runs on the cpu device only (--device cpu)");
}

std::unique_ptr<Plan> make_plan(Context& context, const AllReduceProblem& problem) {
  return std::make_unique<CpuAllReduce>(*context.world, problem);
}

}  // namespace

Provider<AllReduceProblem> cpu_all_reduce_provider() { return {"cpu", supports, make_plan}; }

}  // namespace gpubench
