#!/usr/bin/env bash
# Installs what is missing, builds and runs the tests.
#
#   tools/test.sh           one compiler, Release: minutes
#   tools/test.sh --full    also Clang, both with warnings as errors, the sanitizers, the long tests and NEON: over an hour
#
# MINIGPT_REFERENCE names another folder of PyTorch results in the format of tests/reference.
# MINIGPT_DATA names a folder with tinyshakespeare.txt for the long tests on real text.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tools/packages.sh"
full=false
for argument in "$@"; do
  case "$argument" in
    --full) full=true ;;
    *) echo "usage: tools/test.sh [--full]" >&2; exit 2 ;;
  esac
done
need "${build_packages[@]}" doctest-dev binutils
$full && need clang clang-format

jobs=$(nproc)
# build NAME CMAKE-OPTION ... : configures and builds in build/NAME.
build() {
  local folder=$root/build/$1
  shift
  cmake -S "$root" -B "$folder" -G Ninja -DMINIGPT_TESTS=ON "$@" >/dev/null
  cmake --build "$folder" -j "$jobs"
}
run() {
  (cd "$root/build/$1" && shift && ctest --output-on-failure "$@")
}

if ! $full; then
  build test -DCMAKE_BUILD_TYPE=Release ${MINIGPT_WERROR:+-DMINIGPT_WERROR=ON}
  run test
  exit 0
fi

echo "--- formatting"
(cd "$root" && find tensor autograd nn models tools tests -name '*.h' -o -name '*.cpp' | xargs clang-format --dry-run -Werror)
for compiler in g++ clang++; do
  echo "--- $compiler, Release, warnings as errors"
  build "$compiler" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$compiler -DMINIGPT_WERROR=ON
  MINIGPT_LONG_TESTS=1 run "$compiler"
done
for sanitizer in address,undefined thread; do
  echo "--- sanitizer: $sanitizer"
  build "sanitize-${sanitizer%%,*}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMINIGPT_SANITIZE=$sanitizer
  run "sanitize-${sanitizer%%,*}"
done
echo "--- NEON, emulated"
"$root/tools/test_neon.sh"
