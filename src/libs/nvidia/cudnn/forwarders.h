// SPDX-License-Identifier: Apache-2.0
// Functions of libcudnn and libnvrtc under their own names, defined in this executable and passed
// on to the loaded libraries: cudnn-frontend is header-only and calls them directly, and nothing
// here links the libraries. The list is what a file that includes cudnn_frontend.h 1.32 leaves
// undefined at any optimisation level (`nm -u`).
#pragma once

#include <cudnn.h>
#include <nvrtc.h>

#include "util/shared_library.h"

namespace gpubench {

struct ForwardTable {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnGetStream) get_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) backend_create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) backend_destroy_descriptor = nullptr;
  decltype(&cudnnBackendExecute) backend_execute = nullptr;
  decltype(&cudnnBackendFinalize) backend_finalize = nullptr;
  decltype(&cudnnBackendGetAttribute) backend_get_attribute = nullptr;
  decltype(&cudnnBackendSetAttribute) backend_set_attribute = nullptr;
  decltype(&cudnnCreateFilterDescriptor) create_filter_descriptor = nullptr;
  decltype(&cudnnDestroyFilterDescriptor) destroy_filter_descriptor = nullptr;
  decltype(&cudnnSetFilterNdDescriptor) set_filter_nd_descriptor = nullptr;
  decltype(&cudnnReorderFilterAndBias) reorder_filter_and_bias = nullptr;

  // Only cudnn-frontend's own kernels need these; null where there is no libnvrtc.
  decltype(&nvrtcCreateProgram) nvrtc_create_program = nullptr;
  decltype(&nvrtcDestroyProgram) nvrtc_destroy_program = nullptr;
  decltype(&nvrtcCompileProgram) nvrtc_compile_program = nullptr;
  decltype(&nvrtcGetCUBIN) nvrtc_get_cubin = nullptr;
  decltype(&nvrtcGetCUBINSize) nvrtc_get_cubin_size = nullptr;
  decltype(&nvrtcGetProgramLog) nvrtc_get_program_log = nullptr;
  decltype(&nvrtcGetProgramLogSize) nvrtc_get_program_log_size = nullptr;
};

/// Throws LibraryError E_SYMBOL where cuDNN lacks a function.
ForwardTable load_forward_table(const SharedLibrary& cudnn, const SharedLibrary* nvrtc);

/// Makes the forwarders use `table`, which outlives their calls, until uninstall(table).
void install(const ForwardTable& table);
void uninstall(const ForwardTable& table) noexcept;

}  // namespace gpubench
