// SPDX-License-Identifier: Apache-2.0
// The journal survives whatever ends the run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "report/journal.h"
#include "report/writer.h"
#include "tests/unit/report_samples.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("journal_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    report_ = (folder_ / "r.json").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string report_;
};

TEST_F(JournalTest, HoldsTheHeaderAndEveryResult) {
  Report report = sample_report({sample_gemm(700), sample_gemm(600, 1830, 4096)});
  Journal journal(report_, report);
  for (const Result& result : report.results) journal.append(result);
  const JournalContents back = read_journal(journal.path());
  EXPECT_FALSE(back.torn);
  report.complete = false;  // a journal that is still there is of a run that did not end
  EXPECT_EQ(to_json(back.report), to_json(report));
}

TEST_F(JournalTest, TornLastLineIsDropped) {
  const Report report = sample_report({});
  Journal journal(report_, report);
  journal.append(sample_gemm(700));
  const auto size = fs::file_size(journal.path());
  journal.append(sample_gemm(600, 1830, 4096));
  fs::resize_file(journal.path(), fs::file_size(journal.path()) - 1);  // only the newline is lost
  EXPECT_EQ(read_journal(journal.path()).report.results.size(), 1U);
  EXPECT_TRUE(read_journal(journal.path()).torn);
  fs::resize_file(journal.path(), size + 100);
  EXPECT_EQ(read_journal(journal.path()).report.results.size(), 1U);
  fs::resize_file(journal.path(), 10);
  EXPECT_THROW(read_journal(journal.path()), ConfigError);
}

TEST_F(JournalTest, BrokenLineInTheMiddleIsAnErrorWithItsNumber) {
  Journal journal(report_, sample_report({}));
  journal.append(sample_gemm(700));
  std::ofstream(journal.path(), std::ios::app) << "{oops\n"
                                               << result_line(sample_gemm(600)) << "\n";
  try {
    read_journal(journal.path());
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST_F(JournalTest, WithFinishedCasesIsNeverReplaced) {
  std::string path;
  for (const double microseconds : {700., 600., 500.}) {
    Journal journal(report_, sample_report({}));
    path = journal.path();
    journal.append(sample_gemm(microseconds));
  }
  EXPECT_TRUE(fs::exists(path));
  {
    const Journal of_a_run_killed_at_once(report_, sample_report({}));
    EXPECT_EQ(of_a_run_killed_at_once.kept(), path + ".old3");
  }
  Journal journal(report_, sample_report({}));
  EXPECT_EQ(journal.kept(), "");  // nothing was in it
  journal.remove();
  EXPECT_FALSE(fs::exists(path));
  for (const char* kept : {".old", ".old2", ".old3"}) {
    EXPECT_EQ(read_journal(path + kept).report.results.size(), 1U) << kept;
  }
}

TEST_F(JournalTest, OfWhichOnlyAPartOfTheHeaderWasWrittenIsReplaced) {
  std::ofstream(report_ + ".journal") << header_line(sample_report({})).substr(0, 40);
  const Journal journal(report_, sample_report({}));
  EXPECT_EQ(journal.kept(), "");
}

TEST_F(JournalTest, DoesNotTouchWhatIsNone) {
  const std::string path = report_ + ".journal";
  const auto expect_refused = [&] {
    try {
      const Journal journal(report_, sample_report({}));
      FAIL() << "no error";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.code(), "E_OUTPUT");
    }
    EXPECT_FALSE(fs::exists(path + ".old"));
  };
  fs::create_directory(path);
  expect_refused();
  fs::remove(path);
  std::ofstream(path) << "notes of mine\n";
  expect_refused();
  std::ofstream(path) << to_json(sample_report({sample_gemm(700)}));  // a report of that name
  expect_refused();
  EXPECT_TRUE(fs::file_size(path) > 0);
}

TEST_F(JournalTest, IsPutBackWhereTheNewOneCanNotBegin) {
  {
    Journal journal(report_, sample_report({}));
    journal.append(sample_gemm(700));
  }
  // The write of the new one's header fails as on a full disk.
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit none = {1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_THROW(Journal(report_, sample_report({})), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(read_journal(report_ + ".journal").report.results.size(), 1U);
  EXPECT_FALSE(fs::exists(report_ + ".journal.old"));
}

TEST_F(JournalTest, OfALiveRunIsNotTakenAway) {
  Journal live(report_, sample_report({}));
  try {
    const Journal second(report_, sample_report({}));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.code(), "E_OUTPUT");
    EXPECT_NE(std::string(error.what()).find(report_), std::string::npos) << error.what();
  }
  live.append(sample_gemm(700));
  EXPECT_EQ(read_journal(live.path()).report.results.size(), 1U);
  EXPECT_FALSE(fs::exists(live.path() + ".old"));
}

TEST_F(JournalTest, UnwritablePlaceIsAnError) {
  EXPECT_THROW(Journal("/no/such/folder/r.json", sample_report({})), Error);
}

}  // namespace
}  // namespace gpubench
