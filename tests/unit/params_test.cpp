// SPDX-License-Identifier: Apache-2.0
#include "gpubench/params.h"

#include <gtest/gtest.h>

#include "gpubench/error.h"

namespace gpubench {
namespace {

const std::vector<ParamSpec> kSpecs{
    int_param("m", 4096, "rows"), int_param("bytes", 1 << 30, "of one array"),
    bool_param("tune", false, "time the candidates"),
    choice_param("dtype", "bf16", {"fp32", "tf32", "fp16", "bf16", "fp8"}, "element type"),
    ParamSpec{.name = "note", .default_value = "none", .help = "free text"}};

std::string message(const std::map<std::string, std::string>& given) {
  try {
    Params::resolve(kSpecs, given);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Params, FillsInDefaults) {
  const Params params = Params::resolve(kSpecs, {});
  EXPECT_EQ(params.integer("m"), 4096);
  EXPECT_FALSE(params.flag("tune"));
  EXPECT_EQ(params.dtype(), Dtype::bf16);
  EXPECT_EQ(params.text("note"), "none");
  EXPECT_EQ(params.values().size(), kSpecs.size());
}

TEST(Params, StoresCanonicalValues) {
  const Params params =
      Params::resolve(kSpecs, {{"m", "8K"}, {"bytes", "64MiB"}, {"tune", "true"}});
  EXPECT_EQ(params.text("m"), "8192");
  EXPECT_EQ(params.integer("bytes"), 64 << 20);
  EXPECT_EQ(params.text("tune"), "1");
}

TEST(Params, ErrorsNameTheParameter) {
  EXPECT_NE(message({{"dtpye", "bf16"}}).find("'dtpye'; did you mean 'dtype'?"), std::string::npos);
  EXPECT_NE(message({{"dtype", "bf61"}}).find("did you mean 'bf16'?"), std::string::npos);
  for (const char* value :
       {"0", "-1", "-4K", "four", "", "1.5", "99999999999999999999", "9000000T", "2T"}) {
    const std::string text = message({{"m", value}});
    EXPECT_EQ(text.rfind("m=" + std::string(value) + ": ", 0), 0u) << text;
  }
  EXPECT_EQ(message({{"tune", "2"}}), "tune=2: tune is 0 or 1");
}

TEST(Params, UnknownAccessIsAnError) {
  const Params params = Params::resolve(kSpecs, {});
  EXPECT_THROW(params.text("k"), ConfigError);
  EXPECT_THROW(params.integer("dtype"), ConfigError);
  EXPECT_THROW(params.dtype("note"), ConfigError);
}

TEST(CaseId, LeavesOutDefaults) {
  const auto id = [](const std::map<std::string, std::string>& given,
                     const std::map<std::string, std::string>& conditions) {
    return case_id("ops/x", kSpecs, Params::resolve(kSpecs, given), conditions);
  };
  EXPECT_EQ(id({}, {}), "ops/x");
  EXPECT_EQ(id({{"m", "4K"}, {"bytes", "1GiB"}, {"tune", "off"}}, {}), "ops/x");
  EXPECT_EQ(id({{"tune", "1"}, {"dtype", "fp8"}, {"m", "8K"}}, {}),
            "ops/x?dtype=fp8&m=8192&tune=1");
  EXPECT_EQ(id({{"m", "1"}}, {{"cache", "hot"}, {"data", "zeros"}}),
            "ops/x?cache=hot&data=zeros&m=1");
}

}  // namespace
}  // namespace gpubench
