#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [--check] [--asan] [argument of ctest]...: installs what is missing, builds and runs all
# tests; those that need a GPU skip themselves where there is none.
#   --check  first scripts/check.sh: formatting and layers; scripts/check_cuda12.sh
#   --asan   also build without CUDA under the address and undefined-behaviour sanitizers
# Anything else goes to ctest: scripts/test.sh -L unit, scripts/test.sh -R statistics.
# The last line says "N passed, N failed, N skipped"; the exit code is 0 only if none failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/setup.sh"

presets=(ci)
level=test
while (($# > 0)); do
  case $1 in
    --check) level=check ;;
    --asan) presets+=(asan) ;;
    -h | --help)
      sed -n '3,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) break ;;
  esac
  shift
done

setup "$level"
python=$(python_with jsonschema)
if [[ $level == check ]]; then
  "$root/scripts/check.sh"
  # Where there is no toolkit, nothing of CUDA is built at all.
  if [[ -n ${CUDACXX:-$(command -v nvcc || true)} ]]; then
    code=0
    "$root/scripts/check_cuda12.sh" || code=$?
    # 3: its headers could not be fetched, which says nothing of the code.
    if ((code == 3)); then say "not checked against CUDA 12.9: no headers"; elif ((code != 0)); then exit "$code"; fi
  fi
fi

# Sanitizers only report undefined behaviour unless told to stop at it.
export UBSAN_OPTIONS=${UBSAN_OPTIONS-halt_on_error=1:print_stacktrace=1}

results=()
for preset in "${presets[@]}"; do
  build "$preset" -DGPUBENCH_WERROR=ON -DPython3_EXECUTABLE="$python"
  results+=("$root/build/$preset/ctest.xml")
  rm -f "${results[-1]}"
  say "testing preset $preset"
  # Its exit code is not needed: the summary counts every test, and a missing result fails.
  # Long runs of the program itself would take a sanitized debug build many minutes.
  only=()
  if [[ $preset == asan ]]; then only=(-E '^cli/(run|faults|limits|signals|comm|burn)_test$'); fi
  # No test asserts a time, so they may share the machine; many wait more than they compute.
  ctest --test-dir "$root/build/$preset" "${only[@]}" --parallel "$(($(nproc) + 1))" --output-on-failure --no-tests=error \
    --test-output-size-passed 1000000 --output-junit ctest.xml "$@" || true
done
exec "$python" "$root/scripts/lib/summarize_tests.py" "${results[@]}"
