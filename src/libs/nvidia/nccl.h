// SPDX-License-Identifier: Apache-2.0
// NCCL behind function pointers, and RAII for a communicator. Its header comes with no toolkit, so
// the few declarations needed are here; they are the same in every NCCL 2 (a test compares them
// with nccl.h where there is one).
//   NcclComm comm(context.libraries.nccl(), *context.world);   on every rank, its device current
//   comm.all_reduce(in, out, count, NcclType::bf16, NcclOp::sum, stream.native());
#pragma once

#include <cstddef>
#include <string>

#include "gpubench/world.h"
#include "util/shared_library.h"

struct ncclComm;  // ncclComm_t is a pointer to it

namespace gpubench {

enum class NcclType : int { int32 = 2, fp16 = 6, fp32 = 7, bf16 = 9, fp8_e4m3 = 10 };
enum class NcclOp : int { sum = 0, max = 2, avg = 4 };

/// The values of ncclResult_t that are told apart.
namespace nccl_result {
constexpr int kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kInProgress = 7;
}

struct NcclUniqueId {
  char internal[128];
};

/// ncclConfig_t of 2.14. Later ones only add members, and take this one's size and version for it.
struct NcclConfig {
  std::size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
};

class NcclApi {
 public:
  /// Throws LibraryError: E_SYMBOL, or E_NCCL_VERSION for one before 2.14, which can't make a
  /// communicator without blocking.
  explicit NcclApi(SharedLibrary library);

  int (*get_unique_id)(NcclUniqueId*);
  int (*comm_init_rank_config)(ncclComm**, int ranks, NcclUniqueId, int rank, NcclConfig*);
  int (*comm_finalize)(ncclComm*);
  int (*comm_destroy)(ncclComm*);
  int (*comm_abort)(ncclComm*);
  int (*comm_get_async_error)(ncclComm*, int*);
  int (*all_reduce)(const void* in, void* out, std::size_t count, int type, int op, ncclComm*,
                    void* stream);

  /// Throws LibraryError unless `result` is success: E_NCCL_SYSTEM for failed system calls, else
  /// E_NCCL, with NCCL's own last words.
  void check(int result, const char* call) const;

  int version_number() const { return version_number_; }   ///< 2.28.9: 22809
  const std::string& version() const { return version_; }  ///< "2.28.9"
  const std::string& path() const { return library_.path(); }

 private:
  SharedLibrary library_;
  int version_number_;
  std::string version_;
  const char* (*get_error_string_)(int);
  const char* (*get_last_error_)(ncclComm*);
};

/// The communicator of a world's ranks. All wait for NCCL by polling, so that a stop, a failed rank
/// or the timeout ends it: the communicator is aborted then.
class NcclComm {
 public:
  static constexpr double kTimeout_s = 60;

  /// On every rank alike, for the device that is current. Throws LibraryError, E_NCCL_TIMEOUT too.
  NcclComm(const NcclApi& api, World& world, double timeout_s = kTimeout_s);
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  /// Enqueues. Waits for the host's part only, and that the first time only: connections are made
  /// on first use.
  void all_reduce(const void* in, void* out, std::size_t count, NcclType type, NcclOp op,
                  void* stream);

 private:
  /// Waits while NCCL is in progress; aborts and throws where it failed.
  void settle(int result, const char* call);
  int state() const;
  void abort() noexcept;

  const NcclApi& api_;
  World& world_;
  double timeout_s_;
  ncclComm* comm_ = nullptr;
};

}  // namespace gpubench
