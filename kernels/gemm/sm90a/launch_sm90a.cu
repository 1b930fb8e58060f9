// SPDX-License-Identifier: Apache-2.0
// From arguments and a configuration to a launch: tensor maps, sizes, cluster.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "gpubench/error.h"
#include "kernels/common/launch.cuh"
#include "kernels/common/tensor_map.h"
#include "kernels/gemm/gemm_sm90a.h"
#include "kernels/gemm/sm90a/config.h"

namespace gpubench {
namespace sm90a {
namespace {

/// Rows of 128-row tiles that run side by side: with a wave of about 132 tiles of 128 x 256 this
/// keeps the rows of A and the columns of B that it reads alike in bytes.
constexpr int kBandRows = 2048;

void check_runtime(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError("E_LAUNCH", std::string(what) + " failed: " + cudaGetErrorName(status) + ": " +
                                    cudaGetErrorString(status));
}

struct Operand {
  const void* data;
  std::int64_t outer;  // m or n
  std::int64_t k;
  bool k_contiguous;
};

/// Its map, of itself or of a copy with padded rows, made here. A box is what one block loads: all
/// rows of its part of the tile with contiguous k, else 64 of m or n by a stage's depth.
CUtensorMap operand_map(void* stream, const Operand& operand, int bytes, bool copy, char* copy_to,
                        int tile, int parts) {
  const std::int64_t rows = operand.k_contiguous ? operand.outer : operand.k;
  const std::int64_t columns = operand.k_contiguous ? operand.k : operand.outer;
  const std::int64_t pitch = copy ? aligned_pitch(columns, bytes) : columns;
  if (copy) launch_pad_rows(stream, operand.data, copy_to, rows, columns, bytes, pitch * bytes);
  return make_tensor_map(
      {.data = copy ? copy_to : operand.data,
       .element_bytes = bytes,
       .rows = rows,
       .columns = columns,
       .pitch = pitch,
       .box_rows = operand.k_contiguous ? tile / parts : kStageDepthBytes / bytes});
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % kTmaAlignment == 0;
}

/// C, and what else is shaped like it, can be reached by the copy engine.
bool stores_directly(const GemmArguments& arguments) {
  return arguments.n * output_bytes(arguments.type) % kTmaAlignment != 0 ||
         !is_aligned(arguments.c) || !is_aligned(arguments.aux) || !is_aligned(arguments.residual);
}

void set_output(Params& params, const GemmArguments& arguments) {
  params.direct_store = stores_directly(arguments);
  if (params.direct_store || params.splits > 1) return;
  TensorMapSpec spec{.data = arguments.c,
                     .element_bytes = output_bytes(arguments.type),
                     .rows = arguments.m,
                     .columns = arguments.n,
                     .pitch = arguments.n,
                     .box_rows = kStoreRows,
                     .stream = true};
  params.c = make_tensor_map(spec);
  params.extra = params.c;
  if (arguments.epilogue == GemmEpilogue::bias_gelu_aux) spec.data = arguments.aux;
  if (arguments.epilogue == GemmEpilogue::bias_residual) spec.data = arguments.residual;
  if (spec.data != arguments.c) params.extra = make_tensor_map(spec);
}

Params params_of(void* stream, const GemmArguments& arguments, const Kernel& kernel,
                 const Choice& choice) {
  const int bytes = element_bytes(arguments.type);
  const Workspace workspace = workspace_of(arguments, choice.splits);
  char* memory = static_cast<char*>(arguments.workspace);
  Params params{};
  params.a =
      operand_map(stream, {arguments.a, arguments.m, arguments.k, arguments.a_k_contiguous}, bytes,
                  workspace.copy_a, memory + workspace.a_at, kernel.tile_m, choice.cluster_n);
  params.b =
      operand_map(stream, {arguments.b, arguments.n, arguments.k, arguments.b_k_contiguous}, bytes,
                  workspace.copy_b, memory + workspace.b_at, kernel.tile_n, choice.cluster_m);
  params.splits = choice.splits;
  set_output(params, arguments);
  params.bias = arguments.bias;
  params.residual = arguments.residual;
  params.aux_out = arguments.aux;
  params.c_out = arguments.c;
  if (choice.splits > 1) {
    params.partials = reinterpret_cast<std::uint32_t*>(memory + workspace.partials_at);
  }
  params.partial_pitch = partial_pitch(arguments.n);
  params.m = static_cast<int>(arguments.m);
  params.n = static_cast<int>(arguments.n);
  params.k_blocks = static_cast<int>(blocks_of(arguments.k, kStageDepthBytes / bytes));
  params.cluster_m = choice.cluster_m;
  params.cluster_n = choice.cluster_n;
  const auto clusters = [](std::int64_t size, int tile, int cluster) {
    return static_cast<int>(blocks_of(blocks_of(size, tile), cluster));
  };
  params.order = {clusters(arguments.m, kernel.tile_m, choice.cluster_m),
                  clusters(arguments.n, kernel.tile_n, choice.cluster_n),
                  std::max(1, kBandRows / (kernel.tile_m * choice.cluster_m))};
  params.stagger = choice.stagger;
  params.scale = arguments.scale;
  params.epilogue = arguments.epilogue;
  // The short form's error is small beside the root mean square of many results, not beside a few
  // that may all be close to zero.
  constexpr std::int64_t kMany = 65536;
  params.short_gelu = output_bytes(arguments.type) == 2 && arguments.type != GemmType::fp16 &&
                      arguments.m * arguments.n >= kMany;
  return params;
}

/// Clusters that the device holds at once. Two neighbours fit wherever two multiprocessors are, of
/// four a GPC may have some left over: then one that waits would double the time.
int resident_clusters(const cudaLaunchConfig_t& config, const void* function, int cluster) {
  int device = 0, count = 0;
  if (cluster > 2) {
    check_runtime(cudaOccupancyMaxActiveClusters(&count, function, &config),
                  "cudaOccupancyMaxActiveClusters");
    return std::max(1, count);
  }
  check_runtime(cudaGetDevice(&device), "cudaGetDevice");
  check_runtime(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                "cudaDeviceGetAttribute");
  return std::max(1, count / cluster);
}

void launch(void* stream, const Kernel& kernel, const Choice& choice, Params& params) {
  check_runtime(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(kernel.shared_bytes)),
                "cudaFuncSetAttribute");
  const int cluster = choice.cluster_m * choice.cluster_n;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(cluster));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = kernel.shared_bytes;
  config.stream = native_stream(stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int clusters = std::min(params.order.tiles() * choice.splits,
                                resident_clusters(config, kernel.function, cluster));
  config.gridDim = dim3(static_cast<unsigned>(clusters * cluster));
  config.numAttrs = 2;
  void* parameters[] = {&params};
  check_runtime(cudaLaunchKernelExC(&config, kernel.function, parameters),
                "launch of gemm_sm90a_kernel");
}

}  // namespace
}  // namespace sm90a

void launch_gemm_sm90a(void* stream, const GemmArguments& arguments, const GemmConfig& config) {
  using namespace sm90a;
  const Choice choice = Choice::of(config.index);
  const auto kernels = kernels_of(arguments);
  if (choice.kernel >= static_cast<int>(kernels.size()) || choice.splits < 1) {
    throw Error("E_INTERNAL", "no such configuration of the sm_90a GEMM: " + config.name);
  }
  const std::size_t needed = workspace_of(arguments, choice.splits).bytes;
  if (needed > config.workspace_bytes || (needed > 0 && arguments.workspace == nullptr)) {
    throw Error("E_INTERNAL", "the workspace is for operands with another alignment");
  }
  const Kernel& kernel = kernels[static_cast<std::size_t>(choice.kernel)];
  Params params = params_of(stream, arguments, kernel, choice);
  launch(stream, kernel, choice, params);
  if (choice.splits > 1) launch_split_sum(stream, params, arguments.type);
}

}  // namespace gpubench
