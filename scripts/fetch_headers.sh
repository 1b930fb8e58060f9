#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch_headers.sh DIR: puts cudnn-frontend's and NVML's headers into DIR/include. CMake calls it when
# they are missing. The versions and digests are in scripts/lib/headers.txt. A second call does nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/lib/headers.txt
target=${1:?usage: fetch_headers.sh DIR}
stamp=$target/include/.headers.txt

if [[ -f $target/include/cudnn_frontend.h && -f $target/include/nvml.h ]] &&
  cmp -s "$requirements" "$stamp"; then
  exit 0
fi
python=
for candidate in python3 /usr/bin/python3; do
  if command -v "$candidate" > /dev/null && "$candidate" -m pip --version > /dev/null 2>&1; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]]; then
  echo "fetch_headers: no python3 with pip; install it (Debian: apt-get install python3-pip," \
    "elsewhere: python3 -m ensurepip)" >&2
  exit 2
fi

mkdir -p "$target"
work=$(mktemp -d "$target/.fetch.XXXXXX")  # same file system as the target, so that mv is atomic
trap 'rm -rf "$work"' EXIT

# Headers are the same in every wheel; a fixed platform and version let any python fetch them, and
# make the digest one number. --require-hashes refuses anything else.
echo "fetch_headers: fetching $(sed -n 's/^\([a-z].*\) \\$/\1/p' "$requirements" | tr '\n' ' ')" >&2
if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
  --only-binary=:all: --implementation cp --python-version 3.11 \
  --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
  --dest "$work" --requirement "$requirements" >&2; then
  echo "fetch_headers: pip could not fetch the packages of $requirements (is there a network or a" \
    "package mirror? '$python -m pip config list' shows what pip uses)" >&2
  exit 1
fi

"$python" "$here/lib/unpack_headers.py" "$work"
for header in cudnn_frontend.h nvml.h; do
  if [[ ! -f $work/include/$header ]]; then
    echo "fetch_headers: no $header in the packages of $requirements" >&2
    exit 1
  fi
done
cp "$requirements" "$work/include/.headers.txt"

if [[ -e $target/include ]]; then mv -T "$target/include" "$work/old"; fi
mv -T "$work/include" "$target/include"
