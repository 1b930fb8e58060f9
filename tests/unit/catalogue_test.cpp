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
const std::vector<Known> kKnown{
    {"NVIDIA A100-SXM4-40GB", 0x20B0, "a100-sxm4-40gb"},
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
    {"NVIDIA H200 NVL", 0x233B, "h200-nvl-141gb"},
    {"NVIDIA A30", 0x20B7, "a30"},
    {"NVIDIA H800", 0x2324, "h800-sxm5-80gb"},
    {"NVIDIA H800 PCIe", 0x2322, "h800-pcie-80gb"},
    {"NVIDIA H20", 0x2329, "h20-96gb"},
    {"NVIDIA GH200 480GB", 0x2342, "gh200-96gb-hbm3"},
    {"NVIDIA GH200 120GB", 0x2342, "gh200-96gb-hbm3"},
    {"NVIDIA GH200 144G HBM3e", 0x2348, "gh200-144gb-hbm3e"},
    {"NVIDIA B200", 0x2901, "b200"},
    {"NVIDIA B200", 0x2909, "b200"},
    {"NVIDIA GB200", 0x2941, "gb200"},
    {"NVIDIA B300 SXM6 AC", 0x3182, "b300"},
    {"NVIDIA GB300", 0x31C2, "gb300"},
    {"NVIDIA GB300", 0x31C3, "gb300"},
    {"NVIDIA L40S", 0x26B9, "l40s"},
    {"NVIDIA L4", 0x27B8, "l4"},
    {"NVIDIA GeForce RTX 4090", 0x2684, "rtx-4090"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 0x2BB5, "rtx-pro-6000-bw-server"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 0x2BB1, "rtx-pro-6000-bw-workstation"}};

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
  for (const char* name : {"NVIDIA H300",
                           "NVIDIA Graphics Device",
                           "GRID A100-40C",
                           "",
                           "NVIDIA H200 ",
                           " NVIDIA H200",
                           "nvidia h200",
                           "H200",
                           "NVIDIA H2000",
                           "NVIDIA H100 80GB",
                           "NVIDIA A100",
                           "NVIDIA A100-SXM4-80GB-LP",
                           "NVIDIA B300",
                           "NVIDIA L40",
                           "NVIDIA GH200",
                           "NVIDIA A100-PCIE-80GB",
                           "NVIDIA H200 141GB HBM3e",
                           "NVIDIA H200X-141C",
                           "NVIDIA H200-141C",
                           "NVIDIA H100XM-80C",
                           "NVIDIA Q7-1-10C"}) {
    const DeviceMatch match = shipped().match(gpu(name));
    EXPECT_FALSE(match.spec.has_value()) << name;
    EXPECT_EQ(match.rule.rfind("none: ", 0), 0u) << match.rule;
  }
}

struct Instance {
  const char* name;
  std::uint32_t pci;
  int sms;
  double sm_share, memory_share;
};

TEST(Catalogue, MigInstancesGetTheirShare) {
  // The PCI id is the whole card's; SM counts as NVIDIA's MIG guide and captures give them.
  for (const Instance& instance : std::vector<Instance>{
           {"NVIDIA A100 80GB PCIe MIG 1g.10gb", 0x20B5, 14, 14 / 108.0, 1 / 8.0},
           {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", 0x20B0, 42, 42 / 108.0, 4 / 8.0},
           {"NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb", 0x20B0, 14, 14 / 108.0, 4 / 8.0},
           {"NVIDIA A100-SXM4-80GB MIG 7g.80gb", 0x20B2, 98, 98 / 108.0, 1},
           {"NVIDIA A30 MIG 1g.6gb+me", 0x20B7, 14, 14 / 56.0, 1 / 4.0},
           {"NVIDIA H100 80GB HBM3 MIG 1g.20gb", 0x2330, 16, 16 / 132.0, 2 / 8.0},
           {"NVIDIA H200 MIG 1g.18gb", 0x2335, 16, 16 / 132.0, 1 / 8.0},
           {"NVIDIA H200 MIG 3g.71gb", 0x2335, 60, 60 / 132.0, 4 / 8.0},
           {"NVIDIA H200 MIG 7g.141gb", 0x2335, 132, 1, 1}}) {
    DeviceInfo device = gpu(instance.name, instance.pci);
    device.sm_count = instance.sms;
    device.mig = true;
    const DeviceMatch match = shipped().match(device);
    ASSERT_TRUE(match.spec.has_value()) << instance.name << match.rule;
    const DeviceSpec board = *shipped().match(gpu("", instance.pci)).spec;
    EXPECT_NEAR(match.spec->dense_tflops.at("bf16"),
                instance.sm_share * board.dense_tflops.at("bf16"), 1e-9)
        << instance.name;
    EXPECT_DOUBLE_EQ(*match.spec->memory_gb_per_s, instance.memory_share * *board.memory_gb_per_s)
        << instance.name;
    EXPECT_EQ(match.spec->flops_per_clk_per_sm, board.flops_per_clk_per_sm);
    EXPECT_FALSE(match.spec->nvlink_gb_per_s || match.spec->tdp_w) << "shared";
    EXPECT_NE(match.spec->marketing_name.find("derived"), std::string::npos);
    EXPECT_EQ(match.rule.rfind("mig:", 0), 0u) << match.rule;
  }
}

TEST(Catalogue, AnInstanceOfUnknownSizeHasNoPeaks) {
  DeviceInfo device = gpu("NVIDIA H200 MIG 1g.18gb", 0x2335);  // no SM count
  EXPECT_TRUE(shipped().match(device).spec->dense_tflops.empty());
  device = gpu("NVIDIA H200 MIG strange", 0x2335);
  device.sm_count = 16;
  EXPECT_FALSE(shipped().match(device).spec->memory_gb_per_s.has_value());
  EXPECT_FALSE(shipped().match(gpu("NVIDIA H300 MIG 1g.18gb", 0x9999)).spec.has_value());
  DeviceInfo mig = gpu("NVIDIA H200", 0x2335);
  mig.mig = true;
  EXPECT_FALSE(shipped().match(mig).spec.has_value());
  EXPECT_NE(shipped().match(mig).rule.find("MIG"), std::string::npos);
}

TEST(Catalogue, VirtualGpusNameTheirBoard) {
  // In a guest the PCI id is the card's, and the driver's name table has its traps.
  for (const auto& [name, board] :
       std::map<std::string, std::string>{{"NVIDIA H200-141C", "H200 NVL"},
                                          {"NVIDIA H200X-141C", "H200 SXM"},
                                          {"NVIDIA H100-80C", "H100 PCIe"},
                                          {"NVIDIA H100XM-80C", "H100 SXM5 80GB"},
                                          {"GRID A100DX-20C", "A100 SXM4 80GB"},
                                          {"GRID A100-40C", "A100 PCIe 40GB"}}) {
    const DeviceMatch match = shipped().match(gpu(name, 0x2335));
    EXPECT_FALSE(match.spec.has_value()) << name;
    EXPECT_NE(match.rule.find("time-sliced vGPU of " + board), std::string::npos) << match.rule;
  }
  DeviceInfo backed = gpu("NVIDIA H100XM-1-10C", 0x2330);
  backed.sm_count = 16;
  const DeviceMatch match = shipped().match(backed);
  ASSERT_TRUE(match.spec.has_value()) << match.rule;
  EXPECT_EQ(match.spec->id, "h100-sxm5-80gb");
  EXPECT_DOUBLE_EQ(*match.spec->memory_gb_per_s, 3350 / 8.0);
  EXPECT_NEAR(match.spec->dense_tflops.at("fp16"), 989.4 * 16 / 132, 1e-9);
}

TEST(Catalogue, FewerSmsThanTheCardHasNoPeak) {
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

TEST(Catalogue, RatesOfTheArchitectureOnlyWhereTheyHold) {
  EXPECT_TRUE(spec("h20-96gb").flops_per_clk_per_sm.empty()) << "its tensor cores are cut down";
  EXPECT_EQ(spec("h800-sxm5-80gb").flops_per_clk_per_sm.count("fp64"), 0u);
  EXPECT_EQ(spec("h800-sxm5-80gb").flops_per_clk_per_sm.at("bf16"), 4096);
  EXPECT_EQ(spec("rtx-4090").flops_per_clk_per_sm.at("bf16"), 512);
  EXPECT_EQ(spec("l40s").flops_per_clk_per_sm.at("bf16"), 1024);
}

TEST(Catalogue, ShippedFiguresAgree) {
  for (const std::string& line : shipped().contradictions()) ADD_FAILURE() << line;
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
    const auto& peaks = entry.dense_tflops;
    const auto peak = [&](const char* dtype) { return peaks.count(dtype) ? peaks.at(dtype) : 0; };
    if (peak("fp16") == 0) continue;
    EXPECT_EQ(peak("fp16"), peak("bf16")) << entry.id;
    const bool ampere =
        entry.id.starts_with("a100") || entry.id.starts_with("a800") || entry.id == "a30";
    EXPECT_TRUE(!ampere || peak("fp8") == 0) << entry.id << ": sm_80 has no FP8";
    if (peak("fp8") > 0) {
      EXPECT_NEAR(peak("fp8"), 2 * peak("fp16"), 0.02 * peak("fp8")) << entry.id;
    }
    if (peak("tf32") > 0) {
      EXPECT_NEAR(2 * peak("tf32"), peak("fp16"), 0.03 * peak("fp16")) << entry.id;
    }
  }
}

TEST(Catalogue, EverySourceIsUsed) {
  const auto root = nlohmann::json::parse(read_file(kPath));
  const std::string rest = root["devices"].dump() + root["rates"].dump();
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
  EXPECT_NE(error_with("memory_gb_per_s", "memory_gbs").find("did you mean 'memory_gb'"),
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

constexpr const char* kOwn = R"({
  "sources": {"MINE": {"title": "measured here", "url": null}},
  "devices": [
    {"id": "h200-sxm-141gb", "name": "our H200", "arch": "sm_90", "pci": ["0x2335"],
     "device_names": ["NVIDIA H200"], "identity_sources": ["MINE"],
     "dense_tflops": {"bf16": [900, "MINE"]}, "memory_gb_per_s": [4500, "H200READ"]},
    {"id": "lab-card", "name": "a lab card", "arch": "sm_90", "pci": ["0x2331"],
     "device_names": ["NVIDIA Graphics Device"], "identity_sources": ["MINE"],
     "sm_count": [100, "MINE"], "reference_clock_mhz": [1000, "MINE"],
     "dense_tflops": {"bf16": [2000, "MINE"]}, "memory_gb_per_s": null}]})";

TEST(CatalogueFile, OwnEntriesCorrectAndAdd) {
  Catalogue catalogue = shipped();
  catalogue.add(kOwn, "own.json");
  EXPECT_EQ(catalogue.specs().size(), shipped().specs().size() + 1);
  const DeviceMatch corrected = catalogue.match(gpu("NVIDIA H200", 0x2335));
  EXPECT_EQ(corrected.spec->dense_tflops.at("bf16"), 900);
  EXPECT_EQ(corrected.spec->sources.front(), "measured here");
  EXPECT_EQ(catalogue.match(gpu("NVIDIA Graphics Device")).spec->id, "lab-card");
  EXPECT_EQ(catalogue.match(gpu("", 0x2331)).spec->id, "lab-card") << "a PCI id taken over";
  EXPECT_EQ(catalogue.match(gpu("NVIDIA H100 PCIe")).spec->id, "h100-pcie-80gb");
  const std::vector<std::string> found = catalogue.contradictions();
  ASSERT_EQ(found.size(), 1u) << "2000 TFLOP/s from 100 SMs at 1 GHz";
  EXPECT_EQ(found[0].rfind("lab-card: bf16", 0), 0u) << found[0];
}

TEST(CatalogueFile, ARefusedFileChangesNothing) {
  Catalogue catalogue = shipped();
  std::string text = kOwn;
  text.replace(text.find("[2000, \"MINE\"]"), 14, "[2000, \"NONE\"]");
  EXPECT_THROW(catalogue.add(text, "own.json"), ConfigError);
  EXPECT_EQ(catalogue.match(gpu("NVIDIA H200", 0x2335)).spec->dense_tflops.at("bf16"), 989.4);
}

}  // namespace
}  // namespace gpubench
