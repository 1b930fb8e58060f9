#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh [option of `gpubench run`]...: installs what is missing, builds a Release and runs the
# bert suite on GPU 0, or on the host processor where there is no GPU. Ends with the table and the path
# of the report. Works from any folder; a second run builds only what has changed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/setup.sh"

setup run
build release
gpubench=$root/build/release/gpubench

device=()
if ! reason=$("$gpubench" devices 2>&1 > /dev/null); then
  say "no GPU can be used, so the host processor is measured ($reason)"
  device=(--device cpu)
fi

mkdir -p "$root/build/reports"
say "gpubench run --suite bert ${device[*]} $*"
exec "$gpubench" run --suite bert "${device[@]}" --out "$root/build/reports/bert.json" "$@"
