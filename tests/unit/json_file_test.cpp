// SPDX-License-Identifier: Apache-2.0
#include "util/json_file.h"

#include <gtest/gtest.h>

#include <string>

#include "gpubench/error.h"

namespace gpubench {
namespace {

std::string message(std::string_view text) {
  try {
    parse_json(text, "my.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

TEST(ParseJson, ReadsValues) {
  const auto value = parse_json(R"({"a": [1, 2.5, null, true], "b": {"a": "x"}})", "x");
  EXPECT_EQ(value["a"][0].get<int>(), 1);
  EXPECT_EQ(value["b"]["a"].get<std::string>(), "x");
}

TEST(ParseJson, SaysWhere) {
  EXPECT_TRUE(starts_with(message("{\n  \"a\": tru\n}"), "my.json:2:"))
      << message("{\n \"a\": tru}");
  EXPECT_TRUE(starts_with(message("{\"a\" 1}"), "my.json:1:6: ")) << message("{\"a\" 1}");
  EXPECT_TRUE(starts_with(message("[1,\n2,]"), "my.json:2:3: ")) << message("[1,\n2,]");
  EXPECT_TRUE(starts_with(message("[1] x"), "my.json:1:5: ")) << message("[1] x");
  EXPECT_TRUE(starts_with(message(""), "my.json:1:1: ")) << message("");
}

TEST(ParseJson, EveryTruncationIsAnError) {
  const std::string text = R"({"name": "x", "cases": [{"a": [1, -2.5e3, "q\u00e9"]}, null]})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_TRUE(starts_with(message(text.substr(0, length)), "my.json:1:")) << length;
  }
  EXPECT_EQ(message(text), "no error");
  EXPECT_NE(message("{\"a\": [1").find("ends too early"), std::string::npos);
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_EQ(message("{\"a\": 1,\n \"a\": 2}"), "my.json:2:2: the key \"a\" is there twice");
  EXPECT_EQ(message("{\"x\": {\"k\": 1}, \"y\": [{\"k\": 2}, {\"k\": 3}]}"), "no error");
  EXPECT_TRUE(
      starts_with(message("{\"x\": {}, \"y\": {\"k\": {\"k\": 1}, \"k\": 0}}"), "my.json:1:"));
}

TEST(ParseJson, SurvivesHostileText) {
  EXPECT_TRUE(starts_with(message("{\"a\": 1e999}"), "my.json:1:")) << message("{\"a\": 1e999}");
  EXPECT_TRUE(starts_with(message("[NaN]"), "my.json:1:2: "));
  const std::string invalid = message("[\"\xFF\"]");
  EXPECT_TRUE(starts_with(invalid, "my.json:1:"));
  EXPECT_EQ(invalid.find('\xFF'), std::string::npos);
  EXPECT_TRUE(starts_with(message(std::string(100000, '[')), "my.json:1:"));
}

}  // namespace
}  // namespace gpubench
