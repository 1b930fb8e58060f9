# SPDX-License-Identifier: Apache-2.0
# kernels/**_sm90a.cu is built for sm_90a only (wgmma, TMA); everything else for sm_80 and sm_90 with PTX
# for newer GPUs. Two object libraries: CUDA_ARCHITECTURES is a target's property, not a file's.
file(GLOB_RECURSE kernel_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
set(kernel_sm90a_files ${kernel_files})
list(FILTER kernel_sm90a_files INCLUDE REGEX "_sm90a\\.cu$")
list(FILTER kernel_files EXCLUDE REGEX "_sm90a\\.cu$")

add_library(gpubench_kernels STATIC)
target_include_directories(gpubench_kernels PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(gpubench_kernels PUBLIC gpubench_cuda)
set_target_properties(gpubench_kernels PROPERTIES LINKER_LANGUAGE CXX)
function(gpubench_kernel_objects name architectures)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${architectures}" CUDA_STANDARD_REQUIRED OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  # CMake 3.25 does not know that nvcc has C++20.
  target_compile_options(${name} PRIVATE -std=c++20 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra -lineinfo)
  if(GPUBENCH_WERROR)
    target_compile_options(${name} PRIVATE -Werror=all-warnings)
  endif()
  target_sources(gpubench_kernels PRIVATE $<TARGET_OBJECTS:${name}>)
endfunction()
if(kernel_files)
  gpubench_kernel_objects(gpubench_kernels_base "80-real;90-real;80-virtual" ${kernel_files})
endif()
if(kernel_sm90a_files)
  gpubench_kernel_objects(gpubench_kernels_sm90a "90a-real" ${kernel_sm90a_files})
endif()
