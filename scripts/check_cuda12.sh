#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_cuda12.sh: compiles the host code that sees CUDA against CUDA 12.9's headers, warnings being
# errors. Nothing is linked or run. The headers come from PyPI (some 700 MB pass by, once) and stay in
# .deps/cuda12; cudnn.h and cudnn-frontend are those of the build. Exit code 3: they could not be fetched.
set -euo pipefail
if (($# > 0)); then
  sed -n '3,/^set -euo/p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p' >&2
  case $1 in -h | --help) exit 0 ;; *) exit 2 ;; esac
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
requirements=$root/scripts/lib/cuda12_headers.txt
target=$root/.deps/cuda12

if ! cmp -s "$requirements" "$target/include/.headers.txt"; then
  mkdir -p "$target"
  work=$(mktemp -d "$target/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "check_cuda12: fetching CUDA 12.9's headers" >&2
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    --only-binary=:all: --dest "$work" --requirement "$requirements" >&2; then
    echo "check_cuda12: pip could not fetch the packages of $requirements" >&2
    exit 3
  fi
  python3 "$root/scripts/lib/unpack_headers.py" "$work"
  cp "$requirements" "$work/include/.headers.txt"
  rm -rf "$target/include"
  mv -T "$work/include" "$target/include"
fi
"$root/scripts/fetch_headers.sh" "$root/.deps"

cudnn=$(for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/include /usr/include; do
  if [[ -f $folder/cudnn.h ]]; then echo "$folder"; break; fi
done)
if [[ -z $cudnn ]]; then
  echo "check_cuda12: no cudnn.h on this machine" >&2
  exit 1
fi
# Alone: its folder may hold another CUDA's headers.
rm -rf "$target/cudnn" && mkdir -p "$target/cudnn"
ln -s "$cudnn"/cudnn*.h "$target/cudnn/"

mapfile -t files < <(cd "$root" && find src workloads -name '*.cpp' | grep -E '/(cuda|nvidia|cudnn)/' | sort)
compile() {
  "${CXX:-g++}" -fsyntax-only -std=c++20 -DGPUBENCH_HAS_CUDA=1 -DGPUBENCH_HAS_CUDNN=1 \
    -I"$1/include" -I"$1/src" -I"$1" -isystem "$2/include" -isystem "$2/cudnn" -isystem "$1/.deps/include" \
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror "$1/$3"
}
export -f compile
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -I{} bash -c 'compile "$0" "$1" "$2" || { echo "check_cuda12: $2" >&2; exit 255; }' \
    "$root" "$target" {}
echo "check_cuda12: ${#files[@]} files compile against CUDA 12.9's headers"
