# SPDX-License-Identifier: Apache-2.0
# Script mode: writes OUTPUT with version, commit and compilers; untouched when nothing changed.
set(git "")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE git OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(text "#include \"app/version.h\"

namespace gpubench {

const BuildVersion& build_version() {
  static const BuildVersion version{\"${VERSION}\", \"${git}\", \"${CUDA}\", \"${COMPILER}\", \"${ARCHS}\"};
  return version;
}

}  // namespace gpubench
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
