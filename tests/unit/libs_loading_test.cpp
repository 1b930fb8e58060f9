// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpubench/error.h"
#include "libs/cblas.h"
#include "libs/lazy_library.h"
#include "libs/libraries.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;
using Lazy = LazyLibrary<ProbedLibrary>;

std::unique_ptr<ProbedLibrary> probe(SharedLibrary library) {
  return std::make_unique<ProbedLibrary>(std::move(library), "1");
}

class LibPathTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("gpubench_libs_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ::setenv("GPUBENCH_LIB_PATH", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("GPUBENCH_LIB_PATH");
    fs::remove_all(folder_);
  }
  fs::path folder_;
};

TEST_F(LibPathTest, MissingLibraryNamesThePlacesAndTheWayOut) {
  Lazy lazy("none", {"libgpubench_none.so.2", "libgpubench_none.so.1"}, {"/nowhere"}, probe);
  EXPECT_EQ(lazy.status(false).problem, "not used yet");
  EXPECT_EQ(lazy.try_get(), nullptr);
  try {
    lazy.get();
    FAIL() << "found";
  } catch (const Unsupported& error) {
    EXPECT_EQ(error.code(), "E_LIBRARY_MISSING");
    const std::string message = error.what();
    for (const std::string& part :
         {folder_.string() + "/libgpubench_none.so.2", folder_.string() + "/libgpubench_none.so.1",
          std::string("/nowhere/libgpubench_none.so.2"), std::string("set GPUBENCH_LIB_PATH")}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
    }
  }
  const LibraryStatus status = lazy.status(false);
  EXPECT_FALSE(status.loaded);
  EXPECT_GE(status.searched.size(), 6u);
  EXPECT_EQ(status.problem,
            "libgpubench_none.so.2 or libgpubench_none.so.1 not found; install it, or set "
            "GPUBENCH_LIB_PATH to its folder");
}

TEST_F(LibPathTest, BrokenFileIsReportedNotLoaded) {
  std::ofstream(folder_ / "libgpubench_none.so.1") << "this is no library";
  Lazy lazy("none", {"libgpubench_none.so.1"}, {}, probe);
  EXPECT_THROW(lazy.get(), Unsupported);
  EXPECT_EQ(lazy.status(false).problem.find("libgpubench_none.so.1 can't be loaded"), 0U);
  const std::string first = lazy.status(false).searched.at(0);
  EXPECT_NE(first.find((folder_ / "libgpubench_none.so.1").string()), std::string::npos) << first;
  EXPECT_EQ(first.find("No such file"), std::string::npos) << first;
}

TEST_F(LibPathTest, UnusableCandidateGivesWayToTheNext) {
  std::vector<std::string> tried;
  Lazy lazy("unwind", {"libm.so.6", "libgcc_s.so.1"}, {}, [&](SharedLibrary library) {
    tried.push_back(library.soname());
    library.symbol<void (*)()>("_Unwind_Backtrace");  // the second has it
    return probe(std::move(library));
  });
  EXPECT_NE(lazy.get().path().find("libgcc_s.so.1"), std::string::npos);
  EXPECT_EQ(tried, (std::vector<std::string>{"libm.so.6", "libgcc_s.so.1"}));
  EXPECT_TRUE(lazy.status(false).loaded);
  EXPECT_TRUE(lazy.status(false).problem.empty());
}

TEST_F(LibPathTest, UnusableLibraryKeepsItsReason) {
  Lazy lazy("libm", {"libm.so.6"}, {}, [](SharedLibrary library) {
    library.symbol<void (*)()>("no_such_function");
    return probe(std::move(library));
  });
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      lazy.get();
      FAIL() << "usable";
    } catch (const LibraryError& error) {
      EXPECT_EQ(error.code(), "E_SYMBOL");
    }
  }
  EXPECT_NE(lazy.status(false).problem.find("no_such_function"), std::string::npos);
}

TEST_F(LibPathTest, ManyThreadsLoadOnce) {
  std::atomic<int> made{0};
  Lazy lazy("libm", {"libm.so.6"}, {}, [&](SharedLibrary library) {
    ++made;
    return probe(std::move(library));
  });
  std::vector<std::thread> threads;
  std::atomic<int> got{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { got += lazy.try_get() != nullptr ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(got, 8);
}

TEST_F(LibPathTest, StatusesNameEveryLibraryOnce) {
  Libraries libraries;
  for (const bool load : {false, true}) {
    std::vector<std::string> names;
    for (const LibraryStatus& status : libraries.statuses(load)) {
      names.push_back(status.name);
      EXPECT_EQ(status.loaded, status.problem.empty()) << status.name << ": " << status.problem;
      EXPECT_EQ(status.loaded, !status.path.empty()) << status.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"driver", "libcuda", "cudart", "cublaslt", "cudnn",
                                               "nccl", "nvml", "cblas"}));
  }
}

class CblasTest : public testing::Test {
 protected:
  CblasApi& cblas() { return libraries_.cblas(); }
  void SetUp() override {
    try {
      cblas();
    } catch (const Unsupported& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Libraries libraries_;
};

TEST_F(CblasTest, MultipliesRowMajor) {
  cblas().set_num_threads(1);
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};  // 2 x 3
  const std::vector<float> b = {1, 0, 2, 1, 0, 3};  // 3 x 2
  std::vector<float> c(4, -1);
  cblas().sgemm(CblasApi::kNoTrans, CblasApi::kNoTrans, 2, 2, 3, 1.0F, a.data(), 3, b.data(), 2,
                0.0F, c.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{5, 11, 14, 23}));
  // The same B, stored transposed.
  const std::vector<float> bt = {1, 2, 0, 0, 1, 3};
  std::vector<float> d(4, 1);
  cblas().sgemm(CblasApi::kNoTrans, CblasApi::kTrans, 2, 2, 3, 1.0F, a.data(), 3, bt.data(), 3,
                1.0F, d.data(), 2);
  EXPECT_EQ(d, (std::vector<float>{6, 12, 15, 24}));
}

TEST_F(CblasTest, MultipliesInFp64) {
  const double tiny = 0x1p-40;                    // lost in FP32 beside 1
  const std::vector<double> a = {1, tiny, 3, 4};  // 2 x 2
  const std::vector<double> bt = {1, 1, 0, 2};    // B is {{1, 0}, {1, 2}}
  std::vector<double> c(4, -1);
  cblas().dgemm(CblasApi::kNoTrans, CblasApi::kTrans, 2, 2, 2, 2.0, a.data(), 2, bt.data(), 2, 0.0,
                c.data(), 2);
  EXPECT_EQ(c, (std::vector<double>{2 + 2 * tiny, 4 * tiny, 14, 16}));
}

TEST_F(CblasTest, SaysWhatItIs) {
  EXPECT_TRUE((std::set<std::string>{"OpenBLAS", "MKL", "BLIS"}.count(cblas().name())))
      << cblas().name();
  EXPECT_FALSE(cblas().version().empty());
}

TEST_F(CblasTest, RefusesSizesBeyondItsIntegers) {
  const std::size_t huge = std::size_t{std::numeric_limits<int>::max()} + 1;
  EXPECT_THROW(cblas().sgemm(CblasApi::kNoTrans, CblasApi::kNoTrans, huge, 1, 1, 1, nullptr, 1,
                             nullptr, 1, 0, nullptr, 1),
               ConfigError);
}

TEST(OpenBlasCore, FollowsWhatTheProcessorCanDo) {
  EXPECT_EQ(openblas_core(true, true, true), "SkylakeX");
  EXPECT_EQ(openblas_core(true, true, false), "Haswell");
  EXPECT_EQ(openblas_core(true, false, false), "") << "an old processor is known";
  EXPECT_EQ(openblas_core(false, true, true), "") << "other makers' are found by their features";
}

TEST(OpenBlasCore, ASettingOfTheUserStands) {
  ::setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
  choose_openblas_core();
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Nehalem");
  ::unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace gpubench
