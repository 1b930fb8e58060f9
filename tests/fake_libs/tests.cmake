# SPDX-License-Identifier: Apache-2.0
# Libraries that answer what a test tells them to (by environment variables), under the sonames of the
# real ones: states of a machine that no machine at hand has.
set(fake_library_tests unit_device_driver_test unit_libs_nccl_test unit_libs_nvml_test unit_libs_versions_test)
if(GPUBENCH_HAS_CUDA)
  function(gpubench_fake_library name soname folder)
    add_library(fake_${name} SHARED ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fake_${name}.cpp)
    target_link_libraries(fake_${name} PRIVATE gpubench_cuda)
    set_target_properties(fake_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${soname} SUFFIX ""
      CXX_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake_libs/${folder})
    foreach(test IN LISTS fake_library_tests)
      add_dependencies(${test} fake_${name})
    endforeach()
  endfunction()
  gpubench_fake_library(nvml libnvidia-ml.so.1 nvml)
  gpubench_fake_library(libcuda libcuda.so.1 libcuda)
  gpubench_fake_library(cudnn libcudnn.so.9 cudnn)
  gpubench_fake_library(nccl libnccl.so.2 nccl)
  gpubench_fake_library(nccl_bare libnccl.so.2 nccl_bare)
endif()
foreach(test IN LISTS fake_library_tests)
  target_compile_definitions(${test} PRIVATE GPUBENCH_FAKE_LIBS="${CMAKE_BINARY_DIR}/tests/fake_libs")
endforeach()
