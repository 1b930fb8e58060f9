// SPDX-License-Identifier: Apache-2.0
// Loading NCCL and making communicators, with a fake one (tests/fake_libs/fake_nccl.cpp) that fails
// and hangs where it is told to.
#include <gtest/gtest.h>

#if GPUBENCH_HAS_CUDA

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpubench/error.h"
#include "libs/libraries.h"
#include "libs/nvidia/nccl.h"
#include "ops/all_reduce/providers.h"
#include "tests/ops_fixture.h"
#include "world/thread_world.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace gpubench {
namespace {

constexpr double kSoon_s = 0.05;  // where the timeout is what is tested

class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/nccl", 1);
    for (const char* variable :
         {"FAKE_NCCL_VERSION", "FAKE_NCCL_INIT", "FAKE_NCCL_STUCK", "FAKE_NCCL_REDUCE"}) {
      ::unsetenv(variable);
    }
  }

  /// What the fake has counted, of all tests in this process.
  static int counted(const char* name) {
    const LibrarySearch search = SharedLibrary::open({GPUBENCH_FAKE_LIBS "/nccl/libnccl.so.2"});
    return search.library->symbol<int (*)()>(name)();
  }

  /// The error that `act` throws.
  template <class Act>
  static Reason error_of(const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.reason();
    }
    ADD_FAILURE() << "nothing thrown";
    return {};
  }

  LibraryStatus status() {
    for (const LibraryStatus& library : libraries_.statuses(true)) {
      if (library.name == "nccl") return library;
    }
    return {};
  }

  Libraries libraries_;
};

TEST_F(NcclTest, StatusHasVersionAndPath) {
  EXPECT_TRUE(status().loaded) << status().problem;
  EXPECT_EQ(status().version, "2.28.9");
  EXPECT_NE(status().path.find("fake_libs/nccl/libnccl.so.2"), std::string::npos);
  EXPECT_EQ(libraries_.nccl().version_number(), 22809);
}

TEST_F(NcclTest, TooOldIsRefusedByNameAndVersion) {
  for (const auto& [number, text] : std::vector<std::pair<std::string, std::string>>{
           {"21304", "2.13.4"}, {"2804", "2.8.4"}, {"21000", "2.10.0"}}) {
    ::setenv("FAKE_NCCL_VERSION", number.c_str(), 1);
    Libraries libraries;
    const Reason reason = error_of([&] { libraries.nccl(); });
    EXPECT_EQ(reason.code, "E_NCCL_VERSION");
    EXPECT_NE(reason.message.find("is NCCL " + text), std::string::npos) << reason.message;
    EXPECT_NE(reason.message.find("fake_libs/nccl"), std::string::npos) << reason.message;
  }
  ::setenv("FAKE_NCCL_VERSION", "21400", 1);
  EXPECT_EQ(libraries_.nccl().version(), "2.14.0");
}

TEST_F(NcclTest, AMissingFunctionIsNamed) {
  ::setenv("GPUBENCH_LIB_PATH", GPUBENCH_FAKE_LIBS "/nccl_bare", 1);
  const Reason reason = error_of([&] { libraries_.nccl(); });
  EXPECT_EQ(reason.code, "E_SYMBOL");
  EXPECT_NE(reason.message.find("no symbol nccl"), std::string::npos) << reason.message;
  EXPECT_FALSE(status().loaded);
}

TEST_F(NcclTest, OneRankReducesAndIsDestroyed) {
  const int destroyed = counted("fakeNcclDestroyed"), aborted = counted("fakeNcclAborted");
  ThreadWorld world(1);
  const std::vector<float> in{1, 2, 3};
  std::vector<float> out(3);
  {
    NcclComm comm(libraries_.nccl(), world.rank(0));
    comm.all_reduce(in.data(), out.data(), 3, NcclType::fp32, NcclOp::sum, nullptr);
  }
  EXPECT_EQ(out, in);
  EXPECT_EQ(counted("fakeNcclDestroyed"), destroyed + 1);
  EXPECT_EQ(counted("fakeNcclAborted"), aborted);
}

TEST_F(NcclTest, AllRanksGetTheIdOfRankZero) {
  const int made = counted("fakeNcclIdsMade"), destroyed = counted("fakeNcclDestroyed");
  const NcclApi& api = libraries_.nccl();
  ThreadWorld world(4);
  // The fake refuses a rank whose id is not the last one made.
  run_ranks(world, [&](World& mine) {
    NcclComm comm(api, mine);
    mine.barrier();
  });
  EXPECT_EQ(counted("fakeNcclIdsMade"), made + 1);
  EXPECT_EQ(counted("fakeNcclDestroyed"), destroyed + 4);
}

TEST_F(NcclTest, AFailedInitTellsNcclsOwnWordsAndWhatToDo) {
  ::setenv("FAKE_NCCL_INIT", "2", 1);
  const int aborted = counted("fakeNcclAborted");
  ThreadWorld world(1);
  const Reason reason = error_of([&] { NcclComm(libraries_.nccl(), world.rank(0)); });
  EXPECT_EQ(reason.code, "E_NCCL_SYSTEM");
  for (const char* part :
       {"ncclCommInitRankConfig: unhandled system error (2)", "Call to posix_fallocate failed",
        "NCCL 2.28.9", "fake_libs/nccl", "NCCL_DEBUG=INFO", "/dev/shm"}) {
    EXPECT_NE(reason.message.find(part), std::string::npos) << part << ": " << reason.message;
  }
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 1);

  ::setenv("FAKE_NCCL_INIT", "5", 1);
  const Reason other = error_of([&] { NcclComm(libraries_.nccl(), world.rank(0)); });
  EXPECT_EQ(other.code, "E_NCCL");
  EXPECT_EQ(other.message.find("/dev/shm"), std::string::npos) << other.message;
}

TEST_F(NcclTest, AnInitThatNeverEndsIsAbortedAfterTheTimeout) {
  ::setenv("FAKE_NCCL_STUCK", "init", 1);
  const int aborted = counted("fakeNcclAborted");
  ThreadWorld world(1);
  const Reason reason = error_of([&] { NcclComm(libraries_.nccl(), world.rank(0), kSoon_s); });
  EXPECT_EQ(reason.code, "E_NCCL_TIMEOUT");
  EXPECT_NE(reason.message.find("rank 0 of 1"), std::string::npos) << reason.message;
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 1);
}

TEST_F(NcclTest, AStopEndsAnInitThatHangs) {
  ::setenv("FAKE_NCCL_STUCK", "init", 1);
  const int aborted = counted("fakeNcclAborted");
  std::stop_source source;
  ThreadWorld world(1, source.get_token());
  const std::jthread later([&] { source.request_stop(); });
  const Reason reason = error_of([&] { NcclComm(libraries_.nccl(), world.rank(0)); });
  EXPECT_EQ(reason.code, "E_INTERRUPTED");
  // Stopped before the id was exchanged there was no communicator yet.
  EXPECT_LE(counted("fakeNcclAborted"), aborted + 1);
}

TEST_F(NcclTest, ARankThatFailsEndsTheInitOfTheOthers) {
  ::setenv("FAKE_NCCL_STUCK", "init", 1);
  const int aborted = counted("fakeNcclAborted");
  const NcclApi& api = libraries_.nccl();
  ThreadWorld world(3);
  std::atomic<int> told = 0;
  const Reason reason = error_of([&] {
    run_ranks(world, [&](World& mine) {
      if (mine.rank() == 1) {
        mine.broadcast(0, {});  // the id, and then never NCCL
        throw DeviceError("E_OOM", "full");
      }
      try {
        NcclComm comm(api, mine);
      } catch (const Error& error) {
        if (error.code() == "E_RANK_FAILED") ++told;
        throw;
      }
    });
  });
  EXPECT_EQ(reason.code, "E_OOM");
  EXPECT_EQ(told, 2);
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 2);
}

TEST_F(NcclTest, AFailedReductionAbortsTheCommunicator) {
  ::setenv("FAKE_NCCL_REDUCE", "1", 1);
  const int aborted = counted("fakeNcclAborted"), destroyed = counted("fakeNcclDestroyed");
  ThreadWorld world(1);
  float value = 1;
  {
    NcclComm comm(libraries_.nccl(), world.rank(0));
    const auto reduce = [&] {
      comm.all_reduce(&value, &value, 1, NcclType::fp32, NcclOp::sum, nullptr);
    };
    EXPECT_NE(error_of(reduce).message.find("ncclAllReduce: some error (1)"), std::string::npos);
    EXPECT_NE(error_of(reduce).message.find("was aborted"), std::string::npos);
  }
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 1);
  EXPECT_EQ(counted("fakeNcclDestroyed"), destroyed);
}

TEST_F(NcclTest, ARefusedReductionIsAnError) {
  ThreadWorld world(1);
  float value = 1;
  NcclComm comm(libraries_.nccl(), world.rank(0));
  const Reason reason = error_of([&] {
    comm.all_reduce(&value, &value, 1, NcclType::bf16, NcclOp::sum, nullptr);  // not the fake's
  });
  EXPECT_EQ(reason.code, "E_NCCL");
}

TEST_F(NcclTest, AFinalizeThatHangsIsAborted) {
  const int aborted = counted("fakeNcclAborted"), destroyed = counted("fakeNcclDestroyed");
  ThreadWorld world(1);
  ::setenv("FAKE_NCCL_STUCK", "finalize", 1);
  { NcclComm comm(libraries_.nccl(), world.rank(0), kSoon_s); }
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 1);
  // After a stop it is not even waited for: the timeout is a minute here.
  std::stop_source source;
  ThreadWorld stopped(1, source.get_token());
  {
    NcclComm comm(libraries_.nccl(), stopped.rank(0));
    source.request_stop();
  }
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 2);
  EXPECT_EQ(counted("fakeNcclDestroyed"), destroyed);
}

TEST_F(NcclTest, AnExceptionUnderWayAbortsInsteadOfWaitingForPeers) {
  const int aborted = counted("fakeNcclAborted"), destroyed = counted("fakeNcclDestroyed");
  ThreadWorld world(1);
  const Reason reason = error_of([&] {
    const NcclComm comm(libraries_.nccl(), world.rank(0));
    throw DeviceError("E_OOM", "full");
  });
  EXPECT_EQ(reason.code, "E_OOM");
  EXPECT_EQ(counted("fakeNcclAborted"), aborted + 1);
  EXPECT_EQ(counted("fakeNcclDestroyed"), destroyed);
}

TEST_F(NcclTest, TheProviderReducesWithIt) {
  ThreadWorld world(1);
  TestBench bench(make_cpu_device());
  Context context = bench.context();
  context.world = &world.rank(0);
  const auto plan = nccl_all_reduce_provider().plan(
      context, {.type = ReduceType::fp32, .op = ReduceOp::sum, .count = 3});
  std::vector<float> in{1, 2, 3}, out(3);
  const std::array<void*, 2> operands{in.data(), out.data()};
  plan->run(*bench.stream, operands, nullptr);
  EXPECT_EQ(out, in);
  EXPECT_EQ(plan->algorithm(), "1 rank: local copy");
  EXPECT_EQ(plan->workspace_bytes(), 0U);
}

TEST_F(NcclTest, TheProviderSaysWhatItCanNotDo) {
  const auto supports = [](DeviceKind kind, int cc_major, ReduceType type) -> std::string {
    DeviceInfo device;
    device.kind = kind;
    device.cc_major = cc_major;
    return nccl_all_reduce_provider().supports(device, {.type = type}).reason.code;
  };
  EXPECT_EQ(supports(DeviceKind::cpu, 0, ReduceType::fp32), "E_UNSUPPORTED_DEVICE");
  EXPECT_EQ(supports(DeviceKind::cuda, 8, ReduceType::fp8), "E_UNSUPPORTED_ARCH");
  EXPECT_EQ(supports(DeviceKind::cuda, 8, ReduceType::bf16), "");
  EXPECT_EQ(supports(DeviceKind::cuda, 9, ReduceType::fp8), "");
  ::setenv("FAKE_NCCL_VERSION", "22307", 1);
  ThreadWorld world(1);
  TestBench bench(make_cpu_device());
  Context context = bench.context();
  context.world = &world.rank(0);
  const Reason reason = error_of([&] {
    static_cast<void>(
        nccl_all_reduce_provider().plan(context, {.type = ReduceType::fp8, .count = 1}));
  });
  EXPECT_EQ(reason.code, "E_UNSUPPORTED_DTYPE");
  EXPECT_NE(reason.message.find("NCCL 2.23.7"), std::string::npos) << reason.message;
}

#if __has_include(<nccl.h>)
TEST(NcclHeader, OurDeclarationsAreItsOwn) {
  EXPECT_EQ(sizeof(NcclUniqueId), sizeof(ncclUniqueId));
  EXPECT_EQ(offsetof(NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(NcclConfig, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_LE(sizeof(NcclConfig), sizeof(ncclConfig_t));
  EXPECT_EQ(static_cast<int>(NcclType::int32), ncclInt32);
  EXPECT_EQ(static_cast<int>(NcclType::fp16), ncclFloat16);
  EXPECT_EQ(static_cast<int>(NcclType::fp32), ncclFloat32);
  EXPECT_EQ(static_cast<int>(NcclType::bf16), ncclBfloat16);
#if NCCL_VERSION_CODE >= 22400
  EXPECT_EQ(static_cast<int>(NcclType::fp8_e4m3), ncclFloat8e4m3);
#endif
  EXPECT_EQ(static_cast<int>(NcclOp::sum), ncclSum);
  EXPECT_EQ(static_cast<int>(NcclOp::max), ncclMax);
  EXPECT_EQ(static_cast<int>(NcclOp::avg), ncclAvg);
  EXPECT_EQ(nccl_result::kSuccess, ncclSuccess);
  EXPECT_EQ(nccl_result::kSystemError, ncclSystemError);
  EXPECT_EQ(nccl_result::kInProgress, ncclInProgress);
}
#endif

}  // namespace
}  // namespace gpubench

#else
TEST(NcclTest, NeedsABuildWithCuda) { GTEST_SKIP() << "built without a CUDA toolkit"; }
#endif
