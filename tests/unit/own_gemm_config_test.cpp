// SPDX-License-Identifier: Apache-2.0
// What our own GEMM kernels decide on the host: which configurations there are, and tile orders.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "kernels/common/tile_order.h"
#include "ops/gemm/providers.h"
#if GPUBENCH_HAS_CUDA
#include "kernels/gemm/gemm_sm90a.h"
#endif

namespace gpubench {
namespace {

TEST(TileOrder, VisitsEveryTileOnceAndNeighboursInTurn) {
  for (const auto& [rows, columns, band] :
       {std::array{1, 1, 8}, std::array{7, 5, 3}, std::array{16, 3, 8}, std::array{3, 20, 8}}) {
    const TileOrder order{rows, columns, band};
    std::set<std::pair<int, int>> seen;
    int previous_column = 0;
    for (int tile = 0; tile < order.tiles(); ++tile) {
      const TilePlace place = order.place(tile);
      EXPECT_TRUE(place.row >= 0 && place.row < rows && place.column >= 0 &&
                  place.column < columns);
      EXPECT_LE(std::abs(place.column - previous_column), 1) << "a jump leaves the cached columns";
      previous_column = place.column;
      seen.emplace(place.row, place.column);
    }
    EXPECT_EQ(static_cast<int>(seen.size()), order.tiles());
  }
}

#if GPUBENCH_HAS_CUDA
GemmArguments square(GemmType type, std::int64_t size) {
  GemmArguments arguments;
  arguments.type = type;
  arguments.m = arguments.n = arguments.k = size;
  return arguments;
}

constexpr int kH200 = 132;

TEST(OwnGemmConfigs, LargeProductsTakeLargeTilesInClusters) {
  for (const GemmType type : {GemmType::bf16, GemmType::fp16, GemmType::tf32, GemmType::fp8_e4m3,
                              GemmType::fp8_e5m2, GemmType::int8}) {
    const auto configs = sm90a_configs(square(type, 8192), kH200);
    ASSERT_FALSE(configs.empty());
    EXPECT_NE(configs[0].name.find("256"), std::string::npos) << configs[0].name;
    EXPECT_NE(configs[0].name.find('2', configs[0].name.find("cluster")), std::string::npos);
    EXPECT_EQ(configs[0].workspace_bytes, 0u);
    std::set<int> indices;
    for (const GemmConfig& config : configs) indices.insert(config.index);
    EXPECT_EQ(indices.size(), configs.size()) << "an index names one configuration";
  }
}

TEST(OwnGemmConfigs, FewTilesAndLongSumsAreSplit) {
  GemmArguments arguments = square(GemmType::bf16, 128);
  arguments.k = 65536;
  const auto configs = sm90a_configs(arguments, kH200);
  EXPECT_NE(configs[0].name.find("parts"), std::string::npos) << configs[0].name;
  EXPECT_GT(configs[0].workspace_bytes, 0u);
}

TEST(OwnGemmConfigs, WorkspaceStaysWithinWhatAFootprintCounts) {
  for (const std::int64_t m : {1, 100, 128, 512, 1000}) {
    for (const std::int64_t n : {1, 100, 1001, 2048}) {
      for (const std::int64_t k : {1, 4095, 100000}) {
        GemmArguments arguments = square(GemmType::bf16, 1);
        arguments.m = m;
        arguments.n = n;
        arguments.k = k;
        for (const GemmConfig& config : sm90a_configs(arguments, kH200)) {
          EXPECT_LE(config.workspace_bytes, kMostGemmWorkspace + sm90a_copy_bytes(arguments));
        }
      }
    }
  }
}

TEST(OwnGemmConfigs, UnalignedRowsAreCopied) {
  EXPECT_EQ(sm90a_copy_bytes(square(GemmType::bf16, 1000)), 0u);
  // Rows of 1001 take 1008 elements.
  EXPECT_GE(sm90a_copy_bytes(square(GemmType::bf16, 1001)), 2u * 1001 * 1008 * 2);
  EXPECT_EQ(sm90a_copy_bytes(square(GemmType::int8, 1008)), 0u);
  EXPECT_GT(sm90a_copy_bytes(square(GemmType::int8, 1000)), 0u);
}

DeviceInfo device(int major, int minor) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.cc_major = major;
  info.cc_minor = minor;
  return info;
}

TEST(OwnGemm, SupportsSaysWhyNot) {
  const auto code = [](const DeviceInfo& on, const GemmProblem& problem) {
    return own_sm90a_gemm_supports(on, problem).reason.code;
  };
  const GemmProblem fine{.m = 64, .n = 64, .k = 64};
  EXPECT_TRUE(own_sm90a_gemm_supports(device(9, 0), fine).ok);
  EXPECT_EQ(code(device(8, 0), fine), "E_UNSUPPORTED_ARCH");
  EXPECT_EQ(code(device(10, 0), fine), "E_UNSUPPORTED_ARCH");
  GemmProblem other = fine;
  other.dtype = Dtype::fp64;
  EXPECT_EQ(code(device(9, 0), other), "E_UNSUPPORTED_DTYPE");
  other.dtype = Dtype::fp8_e4m3;
  EXPECT_TRUE(own_sm90a_gemm_supports(device(9, 0), other).ok);
  other.a_k_contiguous = false;
  EXPECT_EQ(code(device(9, 0), other), "E_UNSUPPORTED_SHAPE");
  other = fine;
  other.batch = 2;
  EXPECT_EQ(code(device(9, 0), other), "E_UNSUPPORTED_SHAPE");
}
#endif

}  // namespace
}  // namespace gpubench
