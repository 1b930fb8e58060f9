// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/nccl.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <type_traits>
#include <utility>

#include "gpubench/error.h"
#include "util/text.h"

namespace gpubench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOldest = 21400;            // 2.14: ncclCommInitRankConfig
constexpr int kOldestLongNumber = 10000;  // 2.9 and newer have two digits more
constexpr unsigned int kConfigMagic = 0xcafebeef;
constexpr auto kPollEvery = std::chrono::microseconds(200);

std::string version_text(int version) {
  const bool is_long = version >= kOldestLongNumber;
  return fmt::format("{}.{}.{}", version / (is_long ? 10000 : 1000),
                     version / 100 % (is_long ? 100 : 10), version % 100);
}

int version_of(const SharedLibrary& library) {
  int version = 0;
  if (library.symbol<int (*)(int*)>("ncclGetVersion")(&version) != nccl_result::kSuccess) {
    throw LibraryError("E_NCCL", "ncclGetVersion failed; install another version");
  }
  if (version >= kOldest) return version;
  throw LibraryError("E_NCCL_VERSION",
                     fmt::format("{} is NCCL {}; 2.14 or newer is needed: set GPUBENCH_LIB_PATH to "
                                 "a folder with one",
                                 library.path(), version_text(version)));
}

/// `to` is a member that is to hold the function.
template <class Function>
void load(const SharedLibrary& library, Function& to, const char* name) {
  to = library.symbol<Function>(name);
}

bool is_going(World& world) noexcept {
  try {
    world.check();
    return true;
  } catch (...) {
    return false;
  }
}

std::string advice(int result) {
  if (result != nccl_result::kSystemError) return "; NCCL_DEBUG=INFO tells more";
  return "; NCCL_DEBUG=INFO tells more; in a container /dev/shm may be too small (docker run "
         "--shm-size=1g)";
}

}  // namespace

NcclApi::NcclApi(SharedLibrary library)
    : library_(std::move(library)),
      version_number_(version_of(library_)),
      version_(version_text(version_number_)) {
  load(library_, get_unique_id, "ncclGetUniqueId");
  load(library_, comm_init_rank_config, "ncclCommInitRankConfig");
  load(library_, comm_finalize, "ncclCommFinalize");
  load(library_, comm_destroy, "ncclCommDestroy");
  load(library_, comm_abort, "ncclCommAbort");
  load(library_, comm_get_async_error, "ncclCommGetAsyncError");
  load(library_, all_reduce, "ncclAllReduce");
  load(library_, get_error_string_, "ncclGetErrorString");
  load(library_, get_last_error_, "ncclGetLastError");
}

void NcclApi::check(int result, const char* call) const {
  if (result == nccl_result::kSuccess) return;
  // The last error is the process's, whatever communicator is named.
  const char* words = get_last_error_(nullptr);
  const std::string detail = words == nullptr ? std::string() : valid_utf8(words);
  throw LibraryError(
      result == nccl_result::kSystemError ? "E_NCCL_SYSTEM" : "E_NCCL",
      fmt::format("{}: {} ({}){}{} (NCCL {}, {}){}", call, get_error_string_(result), result,
                  detail.empty() ? "" : ": ", detail, version_, path(), advice(result)));
}

NcclComm::NcclComm(const NcclApi& api, World& world, double timeout_s)
    : api_(api), world_(world), timeout_s_(timeout_s) {
  NcclUniqueId id{};
  if (world.rank() == 0) api.check(api.get_unique_id(&id), "ncclGetUniqueId");
  const World::Bytes shared = world.broadcast(0, std::as_bytes(std::span(&id, 1)));
  if (shared.size() != sizeof(id)) throw Error("E_WORLD_ORDER", "no NCCL id from rank 0");
  std::memcpy(&id, shared.data(), sizeof(id));
  NcclConfig config{
      .size = sizeof(NcclConfig), .magic = kConfigMagic, .version = kOldest, .blocking = 0};
  settle(api.comm_init_rank_config(&comm_, world.size(), id, world.rank(), &config),
         "ncclCommInitRankConfig");
}

NcclComm::~NcclComm() {
  if (comm_ == nullptr) return;
  // While an exception is under way the peers can't be expected to finalize theirs.
  if (std::uncaught_exceptions() > 0) {
    abort();
    return;
  }
  // A communicator that does not block is finalized first. No exception may leave from here, and
  // a peer that is gone is not waited for.
  const auto limit = Clock::now() + std::chrono::duration<double>(timeout_s_);
  int result = is_going(world_) ? api_.comm_finalize(comm_) : nccl_result::kInProgress;
  while (result == nccl_result::kInProgress && is_going(world_) && Clock::now() < limit) {
    std::this_thread::sleep_for(kPollEvery);
    result = state();
  }
  if (result == nccl_result::kSuccess) {
    static_cast<void>(api_.comm_destroy(comm_));
  } else {
    abort();
  }
}

int NcclComm::state() const {
  int state = nccl_result::kSuccess;
  const int result = api_.comm_get_async_error(comm_, &state);
  return result == nccl_result::kSuccess ? state : result;
}

void NcclComm::abort() noexcept {
  if (comm_ != nullptr) static_cast<void>(api_.comm_abort(comm_));
  comm_ = nullptr;
}

void NcclComm::settle(int result, const char* call) {
  try {
    const auto limit = Clock::now() + std::chrono::duration<double>(timeout_s_);
    while (result == nccl_result::kInProgress) {
      world_.check();
      if (Clock::now() > limit) {
        throw LibraryError("E_NCCL_TIMEOUT",
                           fmt::format("{} on rank {} of {} was not done after {:g} s; "
                                       "NCCL_DEBUG=INFO shows what it waits for",
                                       call, world_.rank(), world_.size(), timeout_s_));
      }
      std::this_thread::sleep_for(kPollEvery);
      result = state();
    }
    api_.check(result, call);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclComm::all_reduce(const void* in, void* out, std::size_t count, NcclType type, NcclOp op,
                          void* stream) {
  if (comm_ == nullptr) throw LibraryError("E_NCCL", "the communicator was aborted");
  const int result =
      api_.all_reduce(in, out, count, static_cast<int>(type), static_cast<int>(op), comm_, stream);
  if (result != nccl_result::kSuccess) settle(result, "ncclAllReduce");
}

}  // namespace gpubench
