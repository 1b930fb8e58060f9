// SPDX-License-Identifier: Apache-2.0
#include "util/shared_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "gpubench/error.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

TEST(SharedLibrary, FindsTheMathLibrary) {
  auto search = SharedLibrary::open({"libgpubench-none.so.1", "libm.so.6"});
  ASSERT_TRUE(search.library.has_value());
  EXPECT_EQ(search.library->soname(), "libm.so.6");
  EXPECT_TRUE(fs::path(search.path).is_absolute()) << search.path;
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(search.path))) << "links are resolved";
  EXPECT_EQ(search.searched.size(), 1u);
  const auto cosine = search.library->symbol<double (*)(double)>("cos");
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(SharedLibrary, SaysWhereItLooked) {
  ::setenv("GPUBENCH_LIB_PATH", "/nowhere/one::/nowhere/two", 1);
  const auto search =
      SharedLibrary::open({"libgpubench-a.so", "libgpubench-b.so"}, {"/nowhere/three"});
  ::unsetenv("GPUBENCH_LIB_PATH");
  EXPECT_FALSE(search.library.has_value());
  EXPECT_EQ(search.path, "");
  EXPECT_TRUE(search.refused.empty());
  ASSERT_EQ(search.searched.size(), 8u);  // two names in three folders and the loader's path
  EXPECT_EQ(search.searched[0].rfind("/nowhere/one/libgpubench-a.so: ", 0), 0u);
  EXPECT_EQ(search.searched[2].rfind("/nowhere/two/libgpubench-a.so: ", 0), 0u);
  EXPECT_EQ(search.searched[5].rfind("/nowhere/three/libgpubench-b.so: ", 0), 0u);
  EXPECT_EQ(search.searched[7].rfind("loader path, libgpubench-b.so: ", 0), 0u);
}

TEST(SharedLibrary, ABrokenFileIsNoMatch) {
  const fs::path folder = fs::temp_directory_path() / "gpubench-broken-library";
  fs::create_directories(folder);
  std::ofstream(folder / "libm.so.6") << "no library";
  const auto search = SharedLibrary::open({"libm.so.6"}, {folder.string()});
  fs::remove_all(folder);
  ASSERT_TRUE(search.library.has_value());  // by the loader's path
  ASSERT_EQ(search.searched.size(), 1u);
  EXPECT_NE(search.searched[0].find("libm.so.6: "), std::string::npos);
  EXPECT_EQ(search.refused, search.searched);
}

TEST(SharedLibrary, MissingSymbolsAreNamed) {
  const auto search = SharedLibrary::open({"libm.so.6"});
  ASSERT_TRUE(search.library.has_value());
  using Fn = void (*)();
  EXPECT_EQ(search.library->try_symbol<Fn>("gpubench_none"), nullptr);
  try {
    search.library->symbol<Fn>("gpubench_none");
    FAIL();
  } catch (const LibraryError& error) {
    EXPECT_EQ(error.code(), "E_SYMBOL");
    const std::string what = error.what();
    EXPECT_NE(what.find("libm.so.6"), std::string::npos);
    EXPECT_NE(what.find(search.path), std::string::npos);
    EXPECT_NE(what.find("gpubench_none"), std::string::npos);
  }
}

TEST(SharedLibrary, Moves) {
  auto search = SharedLibrary::open({"libm.so.6"});
  SharedLibrary moved = std::move(*search.library);
  search.library.reset();
  EXPECT_NE(moved.symbol<double (*)(double)>("sin"), nullptr);
  EXPECT_EQ(moved.path(), search.path);
}

}  // namespace
}  // namespace gpubench
