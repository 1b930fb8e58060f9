// SPDX-License-Identifier: Apache-2.0
#include "libs/nvidia/cudnn/forwarders.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpubench {
namespace {

/// The one process-wide pointer of the project: a C function has no object to find its library by.
std::atomic<const ForwardTable*>& installed() {
  static std::atomic<const ForwardTable*> table{nullptr};
  return table;
}

/// Calls the function behind `member`, or returns `failure` where none is loaded.
template <class Result, class... Params, class... Args>
Result forward(Result (*ForwardTable::*member)(Params...), Result failure, Args... args) {
  const ForwardTable* table = installed().load(std::memory_order_acquire);
  if (table == nullptr || table->*member == nullptr) return failure;
  return (table->*member)(args...);
}

constexpr cudnnStatus_t kNoCudnn = CUDNN_STATUS_NOT_INITIALIZED;
constexpr nvrtcResult kNoNvrtc = NVRTC_ERROR_INTERNAL_ERROR;

}  // namespace

ForwardTable load_forward_table(const SharedLibrary& cudnn, const SharedLibrary* nvrtc) {
  ForwardTable table;
  const auto need = [&cudnn](auto& function, const char* name) {
    function = cudnn.symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  const auto may = [nvrtc](auto& function, const char* name) {
    if (nvrtc == nullptr) return;
    function = nvrtc->try_symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  need(table.get_version, "cudnnGetVersion");
  need(table.get_error_string, "cudnnGetErrorString");
  need(table.get_last_error_string, "cudnnGetLastErrorString");
  need(table.get_stream, "cudnnGetStream");
  need(table.backend_create_descriptor, "cudnnBackendCreateDescriptor");
  need(table.backend_destroy_descriptor, "cudnnBackendDestroyDescriptor");
  need(table.backend_execute, "cudnnBackendExecute");
  need(table.backend_finalize, "cudnnBackendFinalize");
  need(table.backend_get_attribute, "cudnnBackendGetAttribute");
  need(table.backend_set_attribute, "cudnnBackendSetAttribute");
  need(table.create_filter_descriptor, "cudnnCreateFilterDescriptor");
  need(table.destroy_filter_descriptor, "cudnnDestroyFilterDescriptor");
  need(table.set_filter_nd_descriptor, "cudnnSetFilterNdDescriptor");
  need(table.reorder_filter_and_bias, "cudnnReorderFilterAndBias");
  may(table.nvrtc_create_program, "nvrtcCreateProgram");
  may(table.nvrtc_destroy_program, "nvrtcDestroyProgram");
  may(table.nvrtc_compile_program, "nvrtcCompileProgram");
  may(table.nvrtc_get_cubin, "nvrtcGetCUBIN");
  may(table.nvrtc_get_cubin_size, "nvrtcGetCUBINSize");
  may(table.nvrtc_get_program_log, "nvrtcGetProgramLog");
  may(table.nvrtc_get_program_log_size, "nvrtcGetProgramLogSize");
  return table;
}

void install(const ForwardTable& table) { installed().store(&table, std::memory_order_release); }

void uninstall(const ForwardTable& table) noexcept {
  const ForwardTable* expected = &table;
  installed().compare_exchange_strong(expected, nullptr);
}

}  // namespace gpubench

using gpubench::forward;
using gpubench::ForwardTable;
using gpubench::kNoCudnn;
using gpubench::kNoNvrtc;

extern "C" {

std::size_t cudnnGetVersion() { return forward(&ForwardTable::get_version, std::size_t{0}); }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return forward(&ForwardTable::get_error_string, static_cast<const char*>("cuDNN is not loaded"),
                 status);
}

void cudnnGetLastErrorString(char* message, std::size_t max_size) {
  const ForwardTable* table = gpubench::installed().load(std::memory_order_acquire);
  if (table != nullptr) {
    table->get_last_error_string(message, max_size);
  } else if (max_size > 0) {
    message[0] = '\0';
  }
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return forward(&ForwardTable::get_stream, kNoCudnn, handle, stream);
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  return forward(&ForwardTable::backend_create_descriptor, kNoCudnn, type, descriptor);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return forward(&ForwardTable::backend_destroy_descriptor, kNoCudnn, descriptor);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack) {
  return forward(&ForwardTable::backend_execute, kNoCudnn, handle, plan, variant_pack);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return forward(&ForwardTable::backend_finalize, kNoCudnn, descriptor);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       std::int64_t requested_count, std::int64_t* count,
                                       void* elements) {
  return forward(&ForwardTable::backend_get_attribute, kNoCudnn, descriptor, name, type,
                 requested_count, count, elements);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements) {
  return forward(&ForwardTable::backend_set_attribute, kNoCudnn, descriptor, name, type, count,
                 elements);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  return forward(&ForwardTable::create_filter_descriptor, kNoCudnn, filter);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  return forward(&ForwardTable::destroy_filter_descriptor, kNoCudnn, filter);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int dims, const int* sizes) {
  return forward(&ForwardTable::set_filter_nd_descriptor, kNoCudnn, filter, type, format, dims,
                 sizes);
}

cudnnStatus_t cudnnReorderFilterAndBias(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
                                        cudnnReorderType_t reorder_type, const void* filter_data,
                                        void* reordered_filter, int reorder_bias, const void* bias,
                                        void* reordered_bias) {
  return forward(&ForwardTable::reorder_filter_and_bias, kNoCudnn, handle, filter, reorder_type,
                 filter_data, reordered_filter, reorder_bias, bias, reordered_bias);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name,
                               int header_count, const char* const* headers,
                               const char* const* include_names) {
  return forward(&ForwardTable::nvrtc_create_program, kNoNvrtc, program, source, name, header_count,
                 headers, include_names);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  return forward(&ForwardTable::nvrtc_destroy_program, kNoNvrtc, program);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count,
                                const char* const* options) {
  return forward(&ForwardTable::nvrtc_compile_program, kNoNvrtc, program, option_count, options);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  return forward(&ForwardTable::nvrtc_get_cubin, kNoNvrtc, program, cubin);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  return forward(&ForwardTable::nvrtc_get_cubin_size, kNoNvrtc, program, size);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  return forward(&ForwardTable::nvrtc_get_program_log, kNoNvrtc, program, log);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  return forward(&ForwardTable::nvrtc_get_program_log_size, kNoNvrtc, program, size);
}

}  // extern "C"
