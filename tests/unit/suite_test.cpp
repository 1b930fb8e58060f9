// SPDX-License-Identifier: Apache-2.0
// Suite files and command-line words to cases, with two workloads of its own.
#include "core/suite.h"

#include <gtest/gtest.h>

#include "gpubench/error.h"

namespace gpubench {
namespace {

const Registration product{
    {.name = "test/product",
     .summary = "for this test",
     .params = {int_param("m", 128, "rows"), int_param("n", 128, "columns"),
                choice_param("dtype", "bf16", {"fp32", "bf16", "fp8"}, "type"),
                bool_param("tune", false, "")}}};
const Registration stream{{.name = "test/stream",
                           .summary = "for this test",
                           .params = {choice_param("kernel", "copy", {"copy", "read"}, "kernel"),
                                      choice_param("dtype", "fp32", {"fp32", "bf16"}, "type")}}};

std::vector<std::string> ids(const std::vector<Case>& cases) {
  std::vector<std::string> result;
  for (const Case& planned : cases) result.push_back(planned.id);
  return result;
}

std::vector<std::string> ids_of_words(const std::vector<std::string>& words,
                                      const Conditions& conditions = {}) {
  return ids(plan_cases(parse_case_words(words), conditions));
}

using Texts = std::vector<std::string>;

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kSuite = R"({
  "name": "mine", "summary": "a test",
  "policy": {"warmup_s": 0.5, "max_noise": 0.02, "min_samples": 7},
  "cpu": {"policy": {"warmup_s": 0.1}},
  "cases": [
    {"workload": "test/product", "params": {"dtype": ["bf16", "fp8"], "tune": true},
     "shapes": [{"m": 1}, {"m": "1K", "n": [2, 3]}],
     "cpu": {"shapes": [{"m": 8}]}},
    {"workload": "test/stream", "conditions": {"cache": "hot", "data": "zeros"}, "cpu": null}
  ]})";

std::string suite_error(const std::string& from, const std::string& to) {
  std::string text = kSuite;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "test error: '" + from + "' not found";
  text.replace(at, from.size(), to);
  return error_of([&] { parse_suite(text, "mine.json", DeviceKind::cuda); });
}

TEST(Suite, IncludesTheCasesOfOthersUnderItsOwnPolicy) {
  const IncludeFn include = [](const std::string& name) {
    if (name != "other") throw ConfigError("unknown suite '" + name + "'");
    return parse_suite(kSuite, "other", DeviceKind::cuda);
  };
  const auto parse = [&](const std::string& members, const IncludeFn& fn) {
    return parse_suite(R"({"name": "n", "summary": "s", )" + members + "}", "mine.json",
                       DeviceKind::cuda, fn);
  };
  const Suite other = parse_suite(kSuite, "other", DeviceKind::cuda);
  const Suite alone = parse(R"("include": ["other"], "policy": {"max_time_s": 33})", include);
  ASSERT_EQ(alone.cases.size(), other.cases.size());
  EXPECT_EQ(alone.cases.back().workload, other.cases.back().workload);
  EXPECT_EQ(alone.cases.back().params, other.cases.back().params);
  EXPECT_EQ(alone.policy.max_time_s, 33);
  const Suite more =
      parse(R"("include": ["other"], "cases": [{"workload": "micro/memory"}])", include);
  EXPECT_EQ(more.cases.size(), other.cases.size() + 1);
  EXPECT_EQ(more.cases.back().workload, "micro/memory");

  // What is included is a part of the suite, so its bytes are a part of the sum.
  const Suite edited =
      parse(R"("include": ["other"], "policy": {"max_time_s": 33})", [](const std::string&) {
        std::string text(kSuite);
        return parse_suite(text + " ", "other", DeviceKind::cuda);
      });
  EXPECT_NE(edited.sha256, alone.sha256);

  const auto error = [&](const char* members, const IncludeFn& fn) {
    return error_of([&] { parse(members, fn); });
  };
  EXPECT_TRUE(has(error(R"("include": ["nope"])", include), "mine.json: include: unknown suite"));
  EXPECT_TRUE(has(error(R"("include": ["other"])", {}), "can't include others"));
  EXPECT_TRUE(has(error(R"("include": [])", include), "not empty"));
  EXPECT_TRUE(has(error(R"("include": "other")", include), "must be a list"));
  EXPECT_TRUE(has(error(R"("include": [1])", include), "each a text"));
  EXPECT_TRUE(has(error(R"("include": ["other"], "cases": [])", include), "not empty"));
}

TEST(Suite, ExpandsShapesAndArrays) {
  const Suite suite = parse_suite(kSuite, "mine.json", DeviceKind::cuda);
  EXPECT_EQ(suite.name, "mine");
  EXPECT_EQ(suite.summary, "a test");
  EXPECT_EQ(suite.sha256.size(), 64u);
  EXPECT_EQ(suite.policy.warmup_s, 0.5);
  EXPECT_EQ(suite.policy.max_noise, 0.02);
  EXPECT_EQ(suite.policy.min_samples, 7);
  EXPECT_EQ(suite.policy.max_time_s, SamplingPolicy{}.max_time_s);
  EXPECT_EQ(ids(plan_cases(suite.cases, {})),
            (Texts{"test/product?m=1&tune=1", "test/product?dtype=fp8&m=1&tune=1",
                   "test/product?m=1024&n=2&tune=1", "test/product?dtype=fp8&m=1024&n=2&tune=1",
                   "test/product?m=1024&n=3&tune=1", "test/product?dtype=fp8&m=1024&n=3&tune=1",
                   "test/stream?cache=hot&data=zeros"}));
}

TEST(Suite, TheCpuHasItsOwnSizes) {
  const Suite suite = parse_suite(kSuite, "mine.json", DeviceKind::cpu);
  EXPECT_EQ(suite.policy.warmup_s, 0.1);
  EXPECT_EQ(suite.policy.max_noise, 0.02);
  EXPECT_EQ(ids(plan_cases(suite.cases, {})),
            (Texts{"test/product?m=8&tune=1", "test/product?dtype=fp8&m=8&tune=1"}));
}

TEST(Suite, MistakesAreNamed) {
  EXPECT_TRUE(has(suite_error("\"summary\"", "\"sumary\""), "did you mean 'summary'"));
  EXPECT_TRUE(has(suite_error("warmup_s", "warmup"), "did you mean 'warmup_s'"));
  EXPECT_TRUE(has(suite_error("\"shapes\"", "\"shape\""), "cases[0]: unknown member \"shape\""));
  EXPECT_TRUE(has(suite_error("\"dtype\": [\"bf16\", \"fp8\"]", "\"m\": 1"),
                  "\"m\" is in params and in shapes"));
  EXPECT_TRUE(
      has(suite_error("[\"bf16\", \"fp8\"]", "[]"), "cases[0].params.dtype: the list is empty"));
  EXPECT_TRUE(has(suite_error("[\"bf16\", \"fp8\"]", "null"), "cases[0].params.dtype"));
  EXPECT_TRUE(has(suite_error("[\"bf16\", \"fp8\"]", "{}"), "cases[0].params.dtype"));
  EXPECT_TRUE(has(suite_error("\"max_noise\": 0.02", "\"max_noise\": -1"), "policy.max_noise"));
  EXPECT_TRUE(has(suite_error("\"max_noise\": 0.02", "\"max_noise\": \"2%\""), "must be a number"));
  EXPECT_TRUE(has(suite_error("\"min_samples\": 7", "\"min_samples\": 2.5"), "must be an integer"));
  EXPECT_TRUE(has(suite_error("\"min_samples\": 7", "\"min_time_s\": 99"),
                  "min_time_s is above max_time_s"));
  EXPECT_TRUE(has(suite_error("\"cache\"", "\"cach\""), "did you mean 'cache'"));
  EXPECT_TRUE(has(suite_error("\"cpu\": null", "\"cpu\": 3"), "cases[1].cpu: must be an object"));
  // A mistake in the cpu part shows on a GPU too.
  EXPECT_TRUE(has(suite_error("{\"warmup_s\": 0.1}", "{\"warmup_s\": -1}"), "cpu.policy.warmup_s"));
  EXPECT_EQ(suite_error("\"cases\": [", "\"cases\": [,").rfind("mine.json:5:", 0), 0u);
  EXPECT_TRUE(has(
      error_of([] { parse_suite("{\"name\": \"x\", \"summary\": \"y\"}", "f", DeviceKind::cuda); }),
      "\"cases\" must be a list"));
  EXPECT_TRUE(has(error_of([] { parse_suite("[]", "f", DeviceKind::cuda); }), "must be an object"));
}

TEST(Suite, EnormousCrossProductsAreRefused) {
  std::string list = "[1";
  for (int i = 2; i <= 400; ++i) list += "," + std::to_string(i);
  list += "]";
  const std::string text =
      "{\"name\":\"x\",\"summary\":\"y\",\"cases\":[{\"workload\":\"test/product\",\"params\":"
      "{\"a\":" +
      list + ",\"b\":" + list + ",\"c\":" + list + "}}]}";
  EXPECT_TRUE(
      has(error_of([&] { parse_suite(text, "f", DeviceKind::cuda); }), "more than 100000 cases"));
}

TEST(Words, ListsMultiplyOut) {
  EXPECT_EQ(ids_of_words({"test/product", "dtype=bf16,fp8", "m=1,2", "test/stream", "kernel=read"}),
            (Texts{"test/product?m=1", "test/product?m=2", "test/product?dtype=fp8&m=1",
                   "test/product?dtype=fp8&m=2", "test/stream?kernel=read"}));
  EXPECT_EQ(ids_of_words({"test/stream"}), (Texts{"test/stream"}));
}

TEST(Words, GlobsTakeTheKeysThatEachWorkloadHas) {
  EXPECT_EQ(ids_of_words({"test/*", "dtype=bf16", "kernel=read"}),
            (Texts{"test/product", "test/stream?dtype=bf16&kernel=read"}));
  EXPECT_TRUE(has(error_of([] {
                    parse_case_words({"test/*", "kernle=read"});
                  }),
                  "did you mean 'kernel'"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"tset/*"}); }), "no workload matches 'tset/*'"));
}

TEST(Words, AnIdOfAReportIsAWorkloadWithItsValues) {
  for (const char* id :
       {"test/product?dtype=fp8&m=1024&n=2&tune=1", "test/stream?cache=hot&data=zeros",
        "test/stream?kernel=read", "test/product"}) {
    EXPECT_EQ(ids_of_words({id}), (Texts{id}));
  }
  EXPECT_EQ(ids_of_words({"test/product?m=2", "n=3", "test/stream?kernel=read"}),
            (Texts{"test/product?m=2&n=3", "test/stream?kernel=read"}));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product?m=2&tune"}); }), "'tune'"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product?m=2", "m=3"}); }), "twice"));
}

TEST(Words, ConditionsAreNoParameters) {
  EXPECT_EQ(ids_of_words({"test/stream", "cache=hot,cold", "data=zeros"}),
            (Texts{"test/stream?cache=hot&data=zeros", "test/stream?data=zeros"}));
  Conditions zeros;
  zeros.data = DataDist::zeros;
  EXPECT_EQ(ids_of_words({"test/stream"}, zeros), (Texts{"test/stream?data=zeros"}));
  EXPECT_EQ(ids_of_words({"test/stream", "data=normal"}, zeros), (Texts{"test/stream"}));
  EXPECT_TRUE(has(error_of([] {
                    ids_of_words({"test/stream", "data=zeroes"});
                  }),
                  "did you mean 'zeros'"));
}

TEST(Words, MistakesAreNamed) {
  EXPECT_TRUE(
      has(error_of([] { parse_case_words({"test/produkt"}); }), "did you mean 'test/product'"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"m=1"}); }), "before any workload"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product", "m="}); }), "'m='"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product", "m=1,,2"}); }), "'m=1,,2'"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product", "=1"}); }), "'=1'"));
  EXPECT_TRUE(has(error_of([] { parse_case_words({"test/product", "m=1", "m=2"}); }), "m=a,b"));
  const std::string unknown = error_of([] { ids_of_words({"test/product", "dtpye=bf16"}); });
  EXPECT_TRUE(has(unknown, "test/product: unknown parameter 'dtpye'; did you mean 'dtype'?"))
      << unknown;
  EXPECT_TRUE(has(error_of([] { ids_of_words({"test/product", "m=0"}); }), "test/product: m=0: "));
}

TEST(PlanCases, DropsExactDuplicates) {
  EXPECT_EQ(ids_of_words({"test/product", "m=128", "test/product", "test/product", "m=1K,1024"}),
            (Texts{"test/product", "test/product?m=1024"}));
}

TEST(Filter, KeepsTheOrder) {
  const auto cases = plan_cases(parse_case_words({"test/product", "m=1,2,3", "test/stream"}), {});
  EXPECT_EQ(ids(filter_cases(cases, {})).size(), 4u);
  EXPECT_EQ(ids(filter_cases(cases, {"stream", "m=2"})),
            (Texts{"test/product?m=2", "test/stream"}));
  EXPECT_EQ(ids(filter_cases(cases, {"*product*"})).size(), 3u);
  EXPECT_EQ(ids(filter_cases(cases, {"test/product"})).size(), 3u);
  EXPECT_EQ(ids(filter_cases(cases, {"test/product?m=3"})), (Texts{"test/product?m=3"}));
  EXPECT_EQ(ids(filter_cases(cases, {"product?m=3"})), (Texts{"test/product?m=3"}));
}

TEST(Filter, NamesEachPatternWithoutAMatch) {
  const auto cases = plan_cases(parse_case_words({"test/product", "test/stream"}), {});
  const std::string text = error_of([&] {
    filter_cases(cases, {"stream", "test/straem", "*xyz*"});
  });
  EXPECT_TRUE(has(text, "no case matches 'test/straem'; did you mean 'test/stream'?")) << text;
  EXPECT_TRUE(has(text, "no case matches '*xyz*'")) << text;
  EXPECT_FALSE(has(text, "matches 'stream'")) << text;
}

TEST(Names, RoundTrip) {
  for (const DataDist data :
       {DataDist::normal, DataDist::uniform, DataDist::zeros, DataDist::ones}) {
    EXPECT_EQ(parse_data_dist(to_string(data)), data);
  }
  for (const CacheMode cache : {CacheMode::cold, CacheMode::hot}) {
    EXPECT_EQ(parse_cache_mode(to_string(cache)), cache);
  }
  for (const Fault fault : {Fault::none, Fault::wrong_element, Fault::unwritten_tile,
                            Fault::swapped_operands, Fault::nan}) {
    EXPECT_EQ(parse_fault(to_string(fault)), fault);
  }
  EXPECT_TRUE(has(error_of([] { parse_fault("wrong_elemnt"); }), "did you mean 'wrong_element'"));
  EXPECT_THROW(parse_cache_mode(""), ConfigError);
}

TEST(Registry, SortsAndRefusesTwins) {
  const auto& all = workloads();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]->name, all[i]->name);
  EXPECT_EQ(&find_workload("test/stream"), &find_workload("test/stream"));
  EXPECT_THROW(Registration({.name = "test/stream", .summary = "again"}), ConfigError);
}

}  // namespace
}  // namespace gpubench
