# SPDX-License-Identifier: Apache-2.0
# Puts configs/**/*.json into the executable, so that it runs from anywhere without a data folder.
function(gpubench_embed_configs target)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/configs/*.json)
  list(SORT files)
  set(output ${PROJECT_BINARY_DIR}/generated/embedded_configs.cpp)
  set(inputs)
  foreach(file IN LISTS files)
    list(APPEND inputs ${PROJECT_SOURCE_DIR}/configs/${file})
  endforeach()
  string(REPLACE ";" "|" joined "${files}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/configs "-DFILES=${joined}" -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/scripts/cmake/embed_files.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/scripts/cmake/embed_files.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
