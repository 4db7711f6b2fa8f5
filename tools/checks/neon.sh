#!/usr/bin/env bash
# Builds the library and its tests for AArch64 with Debian's cross compiler, and runs them under qemu-user: the NEON
# kernels and whatever else differs between processors. Installs the two if they are missing.
#
#   tools/checks/neon.sh           the tensor layer, with the tests of every kernel: minutes
#   tools/checks/neon.sh --all     autograd, nn and models too, and the command itself (build/aarch64/minigpt): an hour
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/packages.sh"
layers=(tensor)
targets=(test_tensor)
for argument in "$@"; do
  case "$argument" in
    --all)
      layers=(tensor autograd nn models)
      targets=("${layers[@]/#/test_}" minigpt_command)
      ;;
    *) echo "usage: tools/checks/neon.sh [--all]" >&2; exit 2 ;;
  esac
done
need "${build_packages[@]}" doctest-dev g++-aarch64-linux-gnu qemu-user

build=$root/build/aarch64
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/tools/cmake/aarch64.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DMINIGPT_TESTS=ON -DMINIGPT_WERROR=ON >/dev/null
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"
pattern=$(IFS='|'; echo "${layers[*]}")
ctest --test-dir "$build" --output-on-failure -R "^($pattern)\$"
