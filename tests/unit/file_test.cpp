// SPDX-License-Identifier: Apache-2.0
#include "util/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>

#include "gpubench/error.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = (fs::temp_directory_path() / "gpubench-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FileTest() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

/// The error that `action` throws.
Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {"", ""};
}

TEST_F(FileTest, SavesAndReads) {
  const std::string text("line\n\0end", 9);
  save_atomically(at("a.json"), text);
  EXPECT_EQ(read_file(at("a.json")), text);
  save_atomically(at("a.json"), "shorter");
  EXPECT_EQ(read_file(at("a.json")), "shorter");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, KeepsPermissionsAndLinks) {
  save_atomically(at("real"), "old");
  ::chmod(at("real").c_str(), 0640);
  fs::create_symlink("real", at("link"));
  save_atomically(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("real")), "new");
  struct stat status {};
  ASSERT_EQ(::stat(at("real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(FileTest, WritesIntoPipes) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  check_writable(at("pipe"));  // does not open it: that would wait for a reader
  auto reader = std::async(std::launch::async, [&] { return read_file(at("pipe")); });
  save_atomically(at("pipe"), "through");
  EXPECT_EQ(reader.get(), "through");
}

TEST_F(FileTest, ReportsAFullDevice) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Error error = error_of([] { save_atomically("/dev/full", "text"); });
  EXPECT_EQ(error.code(), "E_WRITE");
  EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
}

TEST_F(FileTest, ReadErrorsNameThePath) {
  const Error missing = error_of([&] { read_file(at("none")); });
  EXPECT_NE(std::string(missing.what()).find(at("none")), std::string::npos);
  EXPECT_NE(std::string(missing.what()).find("No such file"), std::string::npos);
  const Error folder = error_of([&] { read_file(folder_.string()); });
  EXPECT_NE(std::string(folder.what()).find("directory"), std::string::npos);
}

TEST_F(FileTest, FailedSaveLeavesNothing) {
  EXPECT_EQ(error_of([&] { save_atomically(at("no/a"), "x"); }).code(), "E_WRITE");
  fs::create_directory(at("folder"));
  EXPECT_EQ(error_of([&] { save_atomically(at("folder"), "x"); }).code(), "E_WRITE");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, CheckWritableLeavesNoTrace) {
  check_writable(at("new"));
  EXPECT_EQ(entries(), 0u);
  save_atomically(at("old"), "kept");
  check_writable(at("old"));
  EXPECT_EQ(read_file(at("old")), "kept");
  EXPECT_EQ(entries(), 1u);
  check_writable("/dev/null");
}

TEST_F(FileTest, CheckWritableRefuses) {
  for (const std::string& path : {std::string(), at("missing/a.json"), folder_.string(),
                                  at("trailing/"), at(std::string(300, 'n'))}) {
    const Error error = error_of([&] { check_writable(path); });
    EXPECT_EQ(error.code(), "E_OUTPUT") << path;
  }
  save_atomically(at("file"), "x");
  EXPECT_EQ(error_of([&] { check_writable(at("file/a")); }).code(), "E_OUTPUT");
}

TEST_F(FileTest, CheckWritableSeesReadOnly) {
  if (::geteuid() == 0) {
    // Root ignores permissions; /proc refuses new files from everyone.
    EXPECT_EQ(error_of([] { check_writable("/proc/gpubench.json"); }).code(), "E_OUTPUT");
    return;
  }
  save_atomically(at("file"), "x");
  ::chmod(at("file").c_str(), 0400);
  EXPECT_EQ(error_of([&] { check_writable(at("file")); }).code(), "E_OUTPUT");
  ::chmod(folder_.c_str(), 0500);
  EXPECT_EQ(error_of([&] { check_writable(at("new")); }).code(), "E_OUTPUT");
  ::chmod(folder_.c_str(), 0700);
}

}  // namespace
}  // namespace gpubench
