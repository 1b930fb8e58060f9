# SPDX-License-Identifier: Apache-2.0
# version.cpp is made again at each build when the commit changes, so the report names the right one.
set(version_archs "")
if(GPUBENCH_HAS_CUDA)
  set(version_archs "sm_80,sm_90,compute_80")
  file(GLOB_RECURSE sm90a_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*_sm90a.cu)
  if(sm90a_files)
    set(version_archs "sm_80,sm_90,sm_90a,compute_80")
  endif()
endif()
set(version_file ${PROJECT_BINARY_DIR}/generated/version.cpp)
add_custom_target(gpubench_version_file BYPRODUCTS ${version_file}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${version_file} -DVERSION=${PROJECT_VERSION}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DCUDA=${CMAKE_CUDA_COMPILER_VERSION}" "-DARCHS=${version_archs}"
          -P ${PROJECT_SOURCE_DIR}/scripts/cmake/write_version.cmake VERBATIM)
add_library(gpubench_version STATIC ${version_file})
target_include_directories(gpubench_version PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
add_dependencies(gpubench_version gpubench_version_file)
