// SPDX-License-Identifier: Apache-2.0
// An NCCL that makes communicators of any size and reduces FP32 sums of one rank. The environment
// decides what goes wrong:
// $FAKE_NCCL_VERSION is its version number (default 22809), $FAKE_NCCL_INIT what making a
// communicator ends with, $FAKE_NCCL_STUCK the calls that stay in progress for ever ("init",
// "reduce", "finalize"), $FAKE_NCCL_REDUCE what an all-reduce ends with. Every call that is no
// failure is in progress for two polls first. fakeNccl* say what was done.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4, kInProgress = 7;

struct Id {
  char internal[128];
};
struct Config {
  std::size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
};

int number(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::atoi(text);
}
bool is_stuck(const char* call) {
  const char* text = std::getenv("FAKE_NCCL_STUCK");
  return text != nullptr && std::string(text) == call;
}

std::mutex mutex;
int ids_made = 0;
std::string last_id;
std::atomic<int> aborted{0}, destroyed{0};

}  // namespace

struct ncclComm {
  int ranks = 0, rank = 0;
  int polls = 0;       // still to be in progress
  bool stuck = false;  // for ever
  int outcome = 0;     // after the polls
};

extern "C" {

int ncclGetVersion(int* version) {
  *version = number("FAKE_NCCL_VERSION", 22809);
  return kSuccess;
}
const char* ncclGetErrorString(int result) {
  return result == 2 ? "unhandled system error" : "some error";
}
const char* ncclGetLastError(ncclComm*) { return "Call to posix_fallocate failed"; }

int ncclGetUniqueId(Id* id) {
  const std::lock_guard lock(mutex);
  *id = {};
  last_id = "id " + std::to_string(++ids_made);
  std::strcpy(id->internal + 100, last_id.c_str());  // far in: all 128 bytes have to come over
  return kSuccess;
}

int ncclCommInitRankConfig(ncclComm** comm, int ranks, Id id, int rank, Config* config) {
  {
    const std::lock_guard lock(mutex);
    if (last_id != id.internal + 100) return kInvalidArgument;
  }
  if (config->size != sizeof(Config) || config->magic != 0xcafebeef || config->version != 21400 ||
      config->blocking != 0) {
    return kInvalidArgument;
  }
  const int result = number("FAKE_NCCL_INIT", kSuccess);
  *comm = new ncclComm{ranks, rank, 2, is_stuck("init"), result};
  return kInProgress;
}
int ncclCommGetAsyncError(ncclComm* comm, int* state) {
  *state = comm->stuck || comm->polls-- > 0 ? kInProgress : comm->outcome;
  return kSuccess;
}
int ncclCommFinalize(ncclComm* comm) {
  comm->polls = 2;
  comm->stuck = is_stuck("finalize");
  return kInProgress;
}
int ncclCommDestroy(ncclComm* comm) {
  delete comm;
  ++destroyed;
  return kSuccess;
}
int ncclCommAbort(ncclComm* comm) {
  delete comm;
  ++aborted;
  return kSuccess;
}
int ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, ncclComm* comm,
                  void*) {
  if (type != 7 || op != 0 || comm->ranks != 1) return kInvalidArgument;
  comm->polls = 2;
  comm->stuck = is_stuck("reduce");
  comm->outcome = number("FAKE_NCCL_REDUCE", kSuccess);
  if (comm->outcome == kSuccess && !comm->stuck) std::memcpy(out, in, count * sizeof(float));
  return kInProgress;
}

int fakeNcclAborted() { return aborted; }
int fakeNcclDestroyed() { return destroyed; }
int fakeNcclIdsMade() {
  const std::lock_guard lock(mutex);
  return ids_made;
}

}  // extern "C"
