# SPDX-License-Identifier: Apache-2.0
# One static library per module; files are globbed, so a new file needs no edit here.
# Files below a folder named cuda/ or nvidia/ are left out where there is no CUDA toolkit, below cudnn/
# where there is no cudnn.h.
function(gpubench_warnings target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>)
  if(GPUBENCH_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(GPUBENCH_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GPUBENCH_SANITIZE} -fno-omit-frame-pointer>)
    target_link_options(${target} PUBLIC -fsanitize=${GPUBENCH_SANITIZE})
  endif()
endfunction()

# fmt as headers, its code compiled once in src/util/fmt_library.cpp, which is written for fmt 9 (Debian's);
# with another version header-only, which takes longer to compile.
add_library(gpubench_fmt INTERFACE)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  set(GPUBENCH_FMT_OWN_COPY ON)
  get_target_property(fmt_include_dir fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(gpubench_fmt SYSTEM INTERFACE ${fmt_include_dir})
else()
  set(GPUBENCH_FMT_OWN_COPY OFF)
  target_link_libraries(gpubench_fmt INTERFACE fmt::fmt-header-only)
endif()

function(gpubench_module name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "DEPENDS")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(NOT GPUBENCH_HAS_CUDA)
    list(FILTER files EXCLUDE REGEX "/(cuda|nvidia|cudnn)/")
  elseif(NOT GPUBENCH_HAS_CUDNN)
    list(FILTER files EXCLUDE REGEX "/cudnn/")
  endif()
  # cudnn-frontend is one very large header: -O1 halves its minute of compile time, and its code only plans.
  set(cudnn_files ${files})
  list(FILTER cudnn_files INCLUDE REGEX "/cudnn/")
  if(cudnn_files)
    set_source_files_properties(${cudnn_files} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
  if(NOT GPUBENCH_FMT_OWN_COPY)
    list(FILTER files EXCLUDE REGEX "/fmt_library\\.cpp$")
  endif()
  add_library(gpubench_${name} STATIC ${files})
  target_include_directories(gpubench_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(gpubench_${name} PUBLIC gpubench_fmt nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads ${CMAKE_DL_LIBS})
  foreach(dependency IN LISTS arg_DEPENDS)
    target_link_libraries(gpubench_${name} PUBLIC gpubench_${dependency})
  endforeach()
  # One constexpr-friendly 0/1 each, used where an op's provider list is written.
  target_compile_definitions(gpubench_${name} PUBLIC
    GPUBENCH_HAS_CUDA=$<BOOL:${GPUBENCH_HAS_CUDA}> GPUBENCH_HAS_CUDNN=$<BOOL:${GPUBENCH_HAS_CUDNN}>)
  gpubench_warnings(gpubench_${name})
  # Loops over data: the hash of the program itself, the references in double.
  if(GPUBENCH_SANITIZE AND name MATCHES "^(util|ops)$")
    target_compile_options(gpubench_${name} PRIVATE -O1)
  endif()
endfunction()
