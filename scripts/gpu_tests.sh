#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_tests.sh [--sanitizer] [--logs DIR] BUILD_DIR: runs the gpu tests and the smoke suite of a build
# on this machine's GPU. It needs neither ctest nor CMake, so a build folder copied from another machine
# works.
#   --sanitizer  run each test under compute-sanitizer's memcheck (slow), and no smoke suite
#   --logs DIR   keep the output of each test and the smoke report there (default: BUILD_DIR/gpu-tests)
# The last line says "N passed, N failed, N skipped". Exit codes: 1 a failure, 3 nothing could run.
set -uo pipefail

usage() {
  sed -n '3,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

sanitizer=()
logs=
build=
while (($# > 0)); do
  case $1 in
    --sanitizer)
      tool=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) || {
        echo "gpu_tests: compute-sanitizer not found in PATH or /usr/local/cuda/bin" >&2
        exit 2
      }
      sanitizer=("$tool" --tool memcheck --leak-check no --error-exitcode 86)
      ;;
    --logs)
      logs=${2:?--logs needs a folder}
      shift
      ;;
    -*) usage ;;
    *) build=$1 ;;
  esac
  shift
done
[[ -n $build && -d $build ]] || usage
logs=${logs:-$build/gpu-tests}
mkdir -p "$logs"

passed=0 failed=0 skipped=0

# Last number that GoogleTest's closing lines give for a word.
count_of() { sed -n "s/^\[ *$1 *\] \([0-9]*\) tests\?[,.].*/\1/p" "$2" | tail -n 1; }

for test in "$build"/tests/gpu_*; do
  [[ -f $test && -x $test ]] || continue
  log=$logs/$(basename "$test").log
  "${sanitizer[@]}" "$test" > "$log" 2>&1
  code=$?
  ok=$(count_of PASSED "$log") bad=$(count_of FAILED "$log") left=$(count_of SKIPPED "$log")
  # A crash or a sanitizer's finding fails even where every test says OK.
  if ((code != 0 && ${bad:-0} == 0)); then bad=1; fi
  printf '%-32s %3d passed %3d failed %3d skipped%s\n' "$(basename "$test")" "${ok:-0}" "${bad:-0}" \
    "${left:-0}" "$( ((code == 0)) || echo "  (exit code $code)")"
  if ((${bad:-0} > 0)); then
    grep -E '^\[  FAILED  \]|Failure|ERROR SUMMARY|========= (Invalid|Program hit)|error:' "$log" | head -n 40
    tail -n 20 "$log"
  fi
  passed=$((passed + ${ok:-0})) failed=$((failed + ${bad:-0})) skipped=$((skipped + ${left:-0}))
done

if ((${#sanitizer[@]} == 0)); then
  "$build/gpubench" run --suite smoke --fail-on-skip --out "$logs/smoke.json" 2>&1 | tee "$logs/smoke.log"
  code=${PIPESTATUS[0]}
  if ((code == 0)); then
    passed=$((passed + 1))
  elif ((code == 3)); then
    skipped=$((skipped + 1))
  else
    echo "smoke suite: exit code $code"
    failed=$((failed + 1))
  fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
if ((failed > 0)); then exit 1; fi
if ((passed == 0)); then exit 3; fi
