// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/cuda/cublaslt_algorithm.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace gpubench {
namespace {

struct Name {
  int value;
  std::string_view text;
};

// The shapes that tensor-core kernels of sm_80 and sm_90 come in; others are reported by their
// number.
constexpr Name kTiles[] = {
    {CUBLASLT_MATMUL_TILE_32x32, "32x32"},     {CUBLASLT_MATMUL_TILE_32x64, "32x64"},
    {CUBLASLT_MATMUL_TILE_64x32, "64x32"},     {CUBLASLT_MATMUL_TILE_64x64, "64x64"},
    {CUBLASLT_MATMUL_TILE_64x96, "64x96"},     {CUBLASLT_MATMUL_TILE_96x64, "96x64"},
    {CUBLASLT_MATMUL_TILE_64x128, "64x128"},   {CUBLASLT_MATMUL_TILE_128x64, "128x64"},
    {CUBLASLT_MATMUL_TILE_96x128, "96x128"},   {CUBLASLT_MATMUL_TILE_128x96, "128x96"},
    {CUBLASLT_MATMUL_TILE_128x128, "128x128"}, {CUBLASLT_MATMUL_TILE_64x256, "64x256"},
    {CUBLASLT_MATMUL_TILE_256x64, "256x64"},   {CUBLASLT_MATMUL_TILE_128x160, "128x160"},
    {CUBLASLT_MATMUL_TILE_160x128, "160x128"}, {CUBLASLT_MATMUL_TILE_128x192, "128x192"},
    {CUBLASLT_MATMUL_TILE_192x128, "192x128"}, {CUBLASLT_MATMUL_TILE_128x256, "128x256"},
    {CUBLASLT_MATMUL_TILE_256x128, "256x128"}};

constexpr Name kStages[] = {
    {CUBLASLT_MATMUL_STAGES_16x3, "16x3"},        {CUBLASLT_MATMUL_STAGES_16x4, "16x4"},
    {CUBLASLT_MATMUL_STAGES_16x5, "16x5"},        {CUBLASLT_MATMUL_STAGES_32x3, "32x3"},
    {CUBLASLT_MATMUL_STAGES_32x4, "32x4"},        {CUBLASLT_MATMUL_STAGES_32x5, "32x5"},
    {CUBLASLT_MATMUL_STAGES_64x3, "64x3"},        {CUBLASLT_MATMUL_STAGES_64x4, "64x4"},
    {CUBLASLT_MATMUL_STAGES_64x5, "64x5"},        {CUBLASLT_MATMUL_STAGES_64xAUTO, "64xAUTO"},
    {CUBLASLT_MATMUL_STAGES_128xAUTO, "128xAUTO"}};

constexpr Name kClusters[] = {
    {CUBLASLT_CLUSTER_SHAPE_AUTO, "auto"}, {CUBLASLT_CLUSTER_SHAPE_1x1x1, "1x1"},
    {CUBLASLT_CLUSTER_SHAPE_2x1x1, "2x1"}, {CUBLASLT_CLUSTER_SHAPE_1x2x1, "1x2"},
    {CUBLASLT_CLUSTER_SHAPE_2x2x1, "2x2"}, {CUBLASLT_CLUSTER_SHAPE_4x1x1, "4x1"},
    {CUBLASLT_CLUSTER_SHAPE_1x4x1, "1x4"}, {CUBLASLT_CLUSTER_SHAPE_4x2x1, "4x2"},
    {CUBLASLT_CLUSTER_SHAPE_2x4x1, "2x4"}, {CUBLASLT_CLUSTER_SHAPE_4x4x1, "4x4"}};

template <class T>
int attribute(const CublasLtApi& lt, const cublasLtMatmulAlgo_t& algorithm,
              cublasLtMatmulAlgoConfigAttributes_t which) {
  T value{};
  std::size_t written = 0;
  lt.check(lt.matmul_algo_config_get_attribute(&algorithm, which, &value, sizeof value, &written));
  return static_cast<int>(value);
}

std::string name_of(std::span<const Name> names, int value) {
  for (const Name& name : names) {
    if (name.value == value) return std::string(name.text);
  }
  return fmt::format("#{}", value);
}

}  // namespace

std::string describe_algorithm(const CublasLtApi& lt, const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format(
      "id {} tile {} stages {} cluster {} splitk {} swizzle {}",
      attribute<std::int32_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_ID),
      name_of(kTiles, attribute<std::uint32_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)),
      name_of(kStages, attribute<std::uint32_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)),
      name_of(kClusters,
              attribute<std::uint16_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)),
      attribute<std::int32_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      attribute<std::uint32_t>(lt, algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
}

}  // namespace gpubench
