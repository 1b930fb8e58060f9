// SPDX-License-Identifier: Apache-2.0
// Transfers between the host's memory and a GPU's: the problem, what it needs of the machine, and
// its job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpubench/workload.h"
#include "kernels/transfer/pattern.h"

namespace gpubench {

enum class Direction { h2d, d2h, both };
/// zero_copy: a kernel reads or writes pinned memory where it is.
enum class HostMemory { pinned, pageable, zero_copy };
/// near: the node that the GPU hangs on; far: the one furthest from that; any: where the system
/// puts it.
enum class Numa { near, far, any };
enum class Way { to_device, to_host };

struct TransferProblem {
  Direction direction = Direction::h2d;
  HostMemory memory = HostMemory::pinned;
  Numa numa = Numa::near;
  std::uint64_t bytes = 0;  ///< each way
};

/// Throw ConfigError for a name that is none.
Direction parse_direction(const std::string& name);
HostMemory parse_host_memory(const std::string& name);
Numa parse_numa(const std::string& name);

/// Ways in the order in which they are enqueued.
std::vector<Way> ways_of(Direction direction);

/// The node that the host's memory is to be on; nullopt: any. Throws Unsupported where a far node
/// is asked for and there is none, or nothing tells which the near one is.
std::optional<int> host_node(Numa numa, const std::string& pci_id,
                             const std::filesystem::path& root = "/");

/// What a transfer needs of the machine. One for CUDA; tests bring another.
class TransferLink {
 public:
  virtual ~TransferLink() = default;
  /// Host memory of the problem's kind, freed with the link.
  virtual std::byte* allocate_host(std::size_t bytes) = 0;
  /// Where that memory is; nullopt where the system does not tell.
  virtual std::optional<int> node() const = 0;
  /// "copy_engine" or "own", and how in a few words.
  virtual std::string impl() const = 0;
  virtual std::string algorithm() const = 0;
  /// What is copied between these two calls may run in both directions at once, after what is in
  /// the stream; what comes into the stream later waits for both.
  virtual void fork(Stream& stream) = 0;
  virtual void join(Stream& stream) = 0;
  /// Ordered in the stream, except between fork and join. Waits only as far as a copy of pageable
  /// memory does by itself.
  virtual void copy(Stream& stream, Way way, std::byte* to, const std::byte* from,
                    std::size_t bytes) = 0;
  /// Device memory, by code that transfers nothing but the result of comparing.
  virtual void fill_device(Stream& stream, std::byte* to, std::uint64_t bytes,
                           const BytePattern& pattern) = 0;
  virtual ByteDifference compare_device(Stream& stream, const std::byte* found, std::uint64_t bytes,
                                        const BytePattern& pattern) = 0;
};

/// Throws Unsupported where the host's memory does not suffice.
std::unique_ptr<Job> make_transfer_job(Context& context, const TransferProblem& problem);
std::unique_ptr<Job> make_transfer_job(Context& context, const TransferProblem& problem,
                                       std::unique_ptr<TransferLink> link,
                                       std::optional<int> wanted_node);
/// Device memory that the job takes.
std::uint64_t transfer_footprint(const DeviceInfo& device, const Conditions& conditions,
                                 const TransferProblem& problem);

/// With CUDA only.
std::unique_ptr<TransferLink> make_cuda_transfer_link(Device& device,
                                                      const TransferProblem& problem,
                                                      std::optional<int> node);

}  // namespace gpubench
