#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh [option of `gpubench run`]...: installs what is missing, builds a Release and runs the
# bert suite (or the --suite, workload or case given) on GPU 0, or on the host processor where there is no GPU. Ends with
# the table and the path of the report. Works from any folder; a second run builds only what has changed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/setup.sh"

for word in "$@"; do
  if [[ $word == --help || $word == -h ]]; then
    sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
    exit 0
  fi
done

setup run
build release
gpubench=$root/build/release/gpubench

# An option takes the place of this script's own.
given() {
  local name word
  for word in "${words[@]}"; do
    for name in "$@"; do
      if [[ $word == "$name" || $word == "$name"=* ]]; then return 0; fi
      if [[ $name == -? && $word =~ ^-q*${name#-} ]]; then return 0; fi  # -dcpu, -qd cpu
    done
  done
  return 1
}

# A workload or a case's id among the words takes the place of the suite.
named_workload() {
  local word
  for word in "${words[@]}"; do
    if [[ $word =~ ^(ops|micro|comm)/[a-z0-9_]+([?\ ]|$) ]]; then return 0; fi
  done
  return 1
}

words=("$@")
options=()
if ! given --suite && ! named_workload; then
  options+=(--suite bert)
  if ! given --out --json -o --resume; then
    mkdir -p "$root/build/reports"
    options+=(--out "$root/build/reports/bert.json")
  fi
fi
if ! given --device -d && ! reason=$("$gpubench" devices 2>&1 > /dev/null); then
  say "no GPU can be used, so the host processor is measured ($reason)"
  options+=(--device cpu)
fi

say "gpubench run ${options[*]} $*"
exec "$gpubench" run "${options[@]}" "$@"
