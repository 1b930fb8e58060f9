// SPDX-License-Identifier: Apache-2.0
// The shipped catalogue: every device is found, nothing else is, and its numbers hang together.
#include "core/catalogue.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gpubench/error.h"
#include "util/file.h"

namespace gpubench {
namespace {

const std::string kPath = std::string(GPUBENCH_SOURCE_DIR) + "/configs/devices.json";

const Catalogue& shipped() {
  static const Catalogue catalogue = Catalogue::parse(read_file(kPath), "devices.json");
  return catalogue;
}

const DeviceSpec& spec(const std::string& id) {
  for (const DeviceSpec& candidate : shipped().specs()) {
    if (candidate.id == id) return candidate;
  }
  throw std::runtime_error("no entry " + id);
}

DeviceInfo gpu(const std::string& name, std::optional<std::uint32_t> pci = std::nullopt) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.name = name;
  info.pci_device = pci;
  return info;
}

struct Known {
  const char* name;
  std::uint32_t pci;
  const char* id;
};
const std::vector<Known> kKnown{{"NVIDIA A100-SXM4-40GB", 0x20B0, "a100-sxm4-40gb"},
                                {"NVIDIA A100-PG509-200", 0x20B0, "a100-sxm4-40gb"},
                                {"NVIDIA A100-SXM4-80GB", 0x20B2, "a100-sxm4-80gb"},
                                {"NVIDIA A100-PCIE-40GB", 0x20F1, "a100-pcie-40gb"},
                                {"NVIDIA A100 80GB PCIe", 0x20B5, "a100-pcie-80gb"},
                                {"NVIDIA A800-SXM4-80GB", 0x20F3, "a800-sxm4-80gb"},
                                {"NVIDIA A800-SXM4-40GB", 0x20BD, "a800-sxm4-40gb"},
                                {"NVIDIA A800 80GB PCIe", 0x20F5, "a800-pcie-80gb"},
                                {"NVIDIA A800 80GB PCIe LC", 0x20F5, "a800-pcie-80gb"},
                                {"NVIDIA A800 40GB Active", 0x20F6, "a800-40gb-active"},
                                {"NVIDIA H100 80GB HBM3", 0x2330, "h100-sxm5-80gb"},
                                {"NVIDIA H100", 0x2339, "h100-sxm5-94gb"},
                                {"NVIDIA H100 PCIe", 0x2331, "h100-pcie-80gb"},
                                {"NVIDIA H100 NVL", 0x2321, "h100-nvl-94gb"},
                                {"NVIDIA H200", 0x2335, "h200-sxm-141gb"},
                                {"NVIDIA H200 NVL", 0x233B, "h200-nvl-141gb"}};

TEST(Catalogue, FindsEveryNameAndPciId) {
  std::set<std::string> found;
  for (const Known& known : kKnown) {
    const DeviceMatch by_name = shipped().match(gpu(known.name));
    ASSERT_TRUE(by_name.spec.has_value()) << known.name;
    EXPECT_EQ(by_name.spec->id, known.id);
    EXPECT_EQ(by_name.rule, "name:" + std::string(known.name));
    const DeviceMatch by_pci = shipped().match(gpu("renamed by a newer driver", known.pci));
    ASSERT_TRUE(by_pci.spec.has_value()) << known.name;
    EXPECT_EQ(by_pci.spec->id, known.id);
    found.insert(known.id);
  }
  EXPECT_EQ(shipped().match(gpu("NVIDIA H200", 0x2335)).rule, "pci:0x2335");
  // Custom parts without a name of their own.
  for (const auto& [pci, id] : std::map<std::uint32_t, std::string>{
           {0x2337, "h100-sxm5-64gb"}, {0x2338, "h100-sxm5-96gb"}, {0x233D, "h100-sxm5-96gb"}}) {
    const DeviceMatch match = shipped().match(gpu("", pci));
    ASSERT_TRUE(match.spec.has_value());
    EXPECT_EQ(match.spec->id, id);
    found.insert(id);
  }
  EXPECT_EQ(found.size(), shipped().specs().size());
}

TEST(Catalogue, PciIdWinsOverTheName) {
  const DeviceMatch match = shipped().match(gpu("NVIDIA H100", 0x2330));
  ASSERT_TRUE(match.spec.has_value());
  EXPECT_EQ(match.spec->id, "h100-sxm5-80gb");
}

TEST(Catalogue, NeverGuesses) {
  for (const char* name : {"NVIDIA H20",
                           "NVIDIA H300",
                           "NVIDIA Graphics Device",
                           "GRID A100-40C",
                           "",
                           "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
                           "NVIDIA H200 ",
                           " NVIDIA H200",
                           "nvidia h200",
                           "H200",
                           "NVIDIA H2000",
                           "NVIDIA H100 80GB",
                           "NVIDIA A100",
                           "NVIDIA A100-SXM4-80GB-LP",
                           "NVIDIA H800",
                           "NVIDIA H800 PCIe",
                           "NVIDIA GH200 480GB",
                           "NVIDIA B200",
                           "NVIDIA A30",
                           "NVIDIA L40S",
                           "NVIDIA H200X-141C",
                           "NVIDIA H200-141C",
                           "NVIDIA H100XM-80C",
                           "NVIDIA A100X-1-10C"}) {
    const DeviceMatch match = shipped().match(gpu(name));
    EXPECT_FALSE(match.spec.has_value()) << name;
    EXPECT_EQ(match.rule.rfind("none: ", 0), 0u) << match.rule;
  }
  EXPECT_FALSE(shipped().match(gpu("NVIDIA H20", 0x2329)).spec.has_value());
  EXPECT_FALSE(shipped().match(gpu("NVIDIA GH200 480GB", 0x2342)).spec.has_value());
}

TEST(Catalogue, PartsOfAGpuHaveNoPeak) {
  // The PCI id is the whole card's in all three.
  EXPECT_FALSE(shipped().match(gpu("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 0x2330)).spec.has_value());
  EXPECT_FALSE(shipped().match(gpu("GRID A100DX-20C", 0x20B2)).spec.has_value());
  DeviceInfo mig = gpu("NVIDIA H200", 0x2335);
  mig.mig = true;
  EXPECT_NE(shipped().match(mig).rule.find("MIG"), std::string::npos);
  DeviceInfo fewer = gpu("NVIDIA A100-SXM4-80GB", 0x20B2);
  fewer.sm_count = 98;
  EXPECT_FALSE(shipped().match(fewer).spec.has_value());
  EXPECT_NE(shipped().match(fewer).rule.find("98 of its 108 SMs"), std::string::npos);
  fewer.sm_count = 108;
  EXPECT_TRUE(shipped().match(fewer).spec.has_value());
  DeviceInfo cpu;
  cpu.name = "NVIDIA H200";
  EXPECT_FALSE(shipped().match(cpu).spec.has_value());
}

TEST(Catalogue, CustomPartsHaveNoPeaks) {
  for (const char* id : {"h100-sxm5-64gb", "h100-sxm5-94gb", "h100-sxm5-96gb", "a800-sxm4-40gb"}) {
    EXPECT_TRUE(spec(id).dense_tflops.empty()) << id;
    EXPECT_FALSE(spec(id).memory_gb_per_s.has_value()) << id;
    EXPECT_FALSE(spec(id).flops_per_clk_per_sm.empty()) << id;
  }
}

TEST(Catalogue, NumbersOfTheH200) {
  const DeviceSpec& h200 = spec("h200-sxm-141gb");
  EXPECT_EQ(h200.dense_tflops.at("bf16"), 989.4);
  EXPECT_EQ(h200.dense_tflops.at("tf32"), 494.7);
  EXPECT_EQ(h200.dense_tflops.at("fp32"), 66.9);
  EXPECT_EQ(h200.memory_gb_per_s, 4800);
  EXPECT_EQ(h200.nvlink_gb_per_s, 450);
  EXPECT_EQ(h200.tdp_w, 700);
  EXPECT_EQ(h200.sm_count, 132);
  EXPECT_EQ(h200.flops_per_clk_per_sm.at("bf16"), 4096);
  EXPECT_FALSE(h200.sources.empty());
}

TEST(Catalogue, FamiliesHangTogether) {
  EXPECT_GT(spec("h100-sxm5-80gb").dense_tflops.at("bf16"),
            spec("h100-pcie-80gb").dense_tflops.at("bf16"));
  EXPECT_EQ(spec("h100-sxm5-80gb").dense_tflops, spec("h200-sxm-141gb").dense_tflops);
  EXPECT_GT(spec("h200-sxm-141gb").memory_gb_per_s, spec("h100-sxm5-80gb").memory_gb_per_s);
  for (const auto& [a800, a100] : std::map<std::string, std::string>{
           {"a800-sxm4-80gb", "a100-sxm4-80gb"}, {"a800-pcie-80gb", "a100-pcie-80gb"}}) {
    EXPECT_EQ(spec(a800).dense_tflops, spec(a100).dense_tflops);
    EXPECT_EQ(spec(a800).memory_gb_per_s, spec(a100).memory_gb_per_s);
    EXPECT_LT(spec(a800).nvlink_gb_per_s, spec(a100).nvlink_gb_per_s);
  }
}

TEST(Catalogue, PeaksFollowTheArchitecture) {
  for (const DeviceSpec& entry : shipped().specs()) {
    const bool hopper = entry.flops_per_clk_per_sm.count("fp8") != 0;
    EXPECT_EQ(hopper, entry.id[0] == 'h') << entry.id;
    if (entry.dense_tflops.empty()) continue;
    const auto& peaks = entry.dense_tflops;
    EXPECT_EQ(peaks.count("fp8") != 0, hopper) << entry.id;
    EXPECT_EQ(peaks.at("fp16"), peaks.at("bf16")) << entry.id;
    if (hopper) {
      EXPECT_NEAR(peaks.at("fp8"), 2 * peaks.at("fp16"), 2e-3 * peaks.at("fp8")) << entry.id;
    }
    if (peaks.count("tf32") != 0) {
      EXPECT_NEAR(2 * peaks.at("tf32"), peaks.at("fp16"), 2e-3 * peaks.at("fp16")) << entry.id;
    }
    // Dense, not sparse: the clock that reproduces the peak is one that the parts reach.
    const double clock_mhz =
        peaks.at("bf16") * 1e6 / *entry.sm_count / entry.flops_per_clk_per_sm.at("bf16");
    EXPECT_GT(clock_mhz, 1300) << entry.id;
    EXPECT_LT(clock_mhz, 2000) << entry.id;
  }
}

TEST(Catalogue, EverySourceIsUsed) {
  const auto root = nlohmann::json::parse(read_file(kPath));
  std::string rest = root["devices"].dump() + root["rates"].dump();
  for (const auto& [key, source] : root["sources"].items()) {
    EXPECT_NE(rest.find("\"" + key + "\""), std::string::npos) << key;
  }
}

constexpr const char* kSmall = R"({
  "sources": {"A": {"title": "a page", "url": "https://a"}, "B": {"title": "a reading", "url": null}},
  "rates": {"sm_90": {"bf16": [4096, "A"]}},
  "devices": [{"id": "x", "name": "X", "arch": "sm_90", "pci": ["0x2335"], "device_names": ["N X"],
    "identity_sources": ["A"], "dense_tflops": {"bf16": [100, "A", "B"], "fp8": null},
    "sm_count": [10, "A"], "memory_gb_per_s": null}]})";

/// The error of the small catalogue with one text replaced by another.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "test error: '" + from + "' not found";
  text.replace(at, from.size(), to);
  try {
    Catalogue::parse(text, "my.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CatalogueFile, SourcesAreListedOnce) {
  const Catalogue catalogue = Catalogue::parse(kSmall, "my.json");
  ASSERT_EQ(catalogue.specs().size(), 1u);
  EXPECT_EQ(catalogue.specs()[0].sources,
            (std::vector<std::string>{"a page (https://a)", "a reading"}));
  EXPECT_EQ(catalogue.specs()[0].dense_tflops.count("fp8"), 0u);
}

TEST(CatalogueFile, MistakesAreNamed) {
  EXPECT_EQ(error_with("[100, \"A\", \"B\"]", "[100]"),
            "my.json: x.dense_tflops.bf16: has no source");
  EXPECT_NE(error_with("[100, \"A\", \"B\"]", "[100, \"C\"]").find("'C'"), std::string::npos);
  EXPECT_NE(error_with("[100, \"A\", \"B\"]", "100").find("must be [number"), std::string::npos);
  EXPECT_NE(error_with("[100, \"A\", \"B\"]", "[-1, \"A\"]").find("above 0"), std::string::npos);
  EXPECT_NE(error_with("\"fp8\": null", "\"fp4\": null").find("did you mean"), std::string::npos);
  EXPECT_NE(error_with("memory_gb_per_s", "memory_gb").find("did you mean 'memory_gb_per_s'"),
            std::string::npos);
  EXPECT_NE(error_with("0x2335", "2335").find("PCI"), std::string::npos);
  EXPECT_NE(error_with("\"arch\": \"sm_90\"", "\"arch\": \"sm_70\"").find("sm_70"),
            std::string::npos);
  EXPECT_NE(error_with("[\"0x2335\"]", "[\"0x2335\", \"0x2335\"]").find("twice"),
            std::string::npos);
  EXPECT_NE(error_with("\"name\": \"X\", ", "").find("has no \"name\""), std::string::npos);
  EXPECT_EQ(error_with("{\n", "[").rfind("my.json:", 0), 0u);
  EXPECT_THROW(Catalogue::parse("[]", "my.json"), ConfigError);
}

}  // namespace
}  // namespace gpubench
