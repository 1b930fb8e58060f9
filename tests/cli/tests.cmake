# SPDX-License-Identifier: Apache-2.0
# Each tests/cli/*_test.py becomes a ctest; it gets the built program by environment. Those named script_*
# test scripts/ and need no program.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(cli_sanitized 0)
if(GPUBENCH_SANITIZE)
  set(cli_sanitized 1)
endif()
file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.py)
foreach(file IN LISTS cli_tests)
  get_filename_component(name ${file} NAME_WE)
  set(label cli)
  if(name MATCHES "^script_")
    set(label unit)
  endif()
  add_test(NAME ${label}/${name} COMMAND ${Python3_EXECUTABLE} -B ${file} -v)
  set_tests_properties(${label}/${name} PROPERTIES LABELS ${label} TIMEOUT 900
    COST 100  # these take longest: started first, so that no processor waits for one in the end
    ENVIRONMENT "GPUBENCH=$<TARGET_FILE:gpubench>;GPUBENCH_SANITIZED=${cli_sanitized}")
endforeach()
