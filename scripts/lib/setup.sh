# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart.sh and test.sh: finds the toolchain and installs or names what is missing.
# What counts is whether a thing works, not which package brought it.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { echo "== $*" >&2; }

die() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

has() { command -v "$1" > /dev/null 2>&1; }

compiles_with() {
  has c++ || has g++ || return 1
  echo "#include <$1>" | "$(command -v c++ || command -v g++)" -std=c++20 -x c++ -E - > /dev/null 2>&1
}

# The first python3 that can import the modules; Debian's own may have them where another, first in
# PATH, has not.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    if has "$python" && "$python" -c "import $1" > /dev/null 2>&1; then
      command -v "$python"
      return 0
    fi
  done
  return 1
}

has_blas() {
  local list
  list=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null) || return 1
  grep -q 'libopenblas\.so\.0' <<< "$list"
}

# Names of the Debian packages that this machine lacks. $1: "run", "test" or "check".
missing_packages() {
  has cmake || echo cmake
  has ninja || echo ninja-build
  has c++ || has g++ || echo g++
  compiles_with fmt/format.h || echo libfmt-dev
  compiles_with nlohmann/json.hpp || echo nlohmann-json3-dev
  compiles_with CLI/CLI.hpp || echo libcli11-dev
  has_blas || echo libopenblas0-pthread
  has python3 || echo python3
  python_with pip > /dev/null || echo python3-pip
  if [[ $1 == run ]]; then return 0; fi
  compiles_with gtest/gtest.h || echo libgtest-dev
  python_with jsonschema > /dev/null || echo python3-jsonschema
  has readelf || echo binutils
  if [[ $1 == check ]] && ! has clang-format; then echo clang-format; fi
}

# Installs what is missing where that needs no question (root, or sudo without a password); otherwise
# names it and stops.
install_missing() {
  local as_root=() packages
  mapfile -t packages < <(missing_packages "$1")
  if ((${#packages[@]} == 0)); then return 0; fi
  if ((EUID != 0)); then as_root=(sudo -n); fi
  if ! has apt-get || { ((EUID != 0)) && ! sudo -n true 2> /dev/null; }; then
    die "missing: ${packages[*]} (names of Debian packages). Install them and run this again:" \
      "sudo apt-get install ${packages[*]}"
  fi
  say "installing ${packages[*]}"
  "${as_root[@]}" apt-get update -qq > /dev/null || say "apt-get update failed; trying the lists there are"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${packages[@]}" > /dev/null || die "apt-get could not install: ${packages[*]}"
  mapfile -t packages < <(missing_packages "$1")
  if ((${#packages[@]} > 0)); then
    die "still missing after the installation: ${packages[*]}"
  fi
}

# Lets CMake see a CUDA toolkit that is installed but not in PATH. Without one the rest still builds.
find_nvcc() {
  local nvcc
  nvcc=${CUDACXX:-$(command -v nvcc || true)}
  if [[ -z $nvcc && -x /usr/local/cuda/bin/nvcc ]]; then nvcc=/usr/local/cuda/bin/nvcc; fi
  if [[ -n $nvcc ]]; then
    export CUDACXX=$nvcc
    say "CUDA toolkit: $nvcc"
  else
    say "no CUDA toolkit (nvcc not in PATH, nor in /usr/local/cuda/bin): building without GPU support"
  fi
}

# setup run|test|check: everything up to the first cmake call.
setup() {
  install_missing "$1"
  find_nvcc
  if has ccache; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
    export CMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CUDA_COMPILER_LAUNCHER-ccache}
  fi
}

# build PRESET [cmake configure argument]...: configures and builds into build/PRESET.
build() {
  local preset=$1
  shift
  say "building preset $preset in $root/build/$preset"
  (cd "$root" && cmake --preset "$preset" "$@" > /dev/null && cmake --build --preset "$preset") >&2
}
