#!/usr/bin/env bash
# Builds the library and its tests for AArch64 with the cross compiler and runs them under qemu-user: the NEON kernels,
# and the parts that differ between processors. Minutes.
#
#   tools/test_neon.sh           tests of the tensor layer, then a short training run compared with this machine's
#   tools/test_neon.sh --all     all tests that start no other program
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tools/packages.sh"
all=false
for argument in "$@"; do
  case "$argument" in
    --all) all=true ;;
    *) echo "usage: tools/test_neon.sh [--all]" >&2; exit 2 ;;
  esac
done
need "${build_packages[@]}" doctest-dev g++-aarch64-linux-gnu qemu-user

build=$root/build/aarch64
layers=(tensor)
$all && layers+=(autograd nn models)
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/tools/cmake/aarch64.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DMINIGPT_TESTS=ON -DMINIGPT_WERROR=ON >/dev/null
cmake --build "$build" -j "$(nproc)" --target "${layers[@]/#/test_}"
ctest --test-dir "$build" --output-on-failure -R "^($(IFS='|'; echo "${layers[*]}"))\$"
