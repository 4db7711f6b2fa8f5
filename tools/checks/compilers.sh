#!/usr/bin/env bash
# Other compilers, and the other standard library: with each that is installed, the library and every public header alone
# compile without a warning, and the random streams are the golden ones.
#
#   tools/checks/compilers.sh             with what is installed
#   tools/checks/compilers.sh --install   installs Debian's oldest and newest first: GCC 11, Clang 19 with libc++
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/packages.sh"
need "${build_packages[@]}" doctest-dev
case "${1:-}" in
  "") ;;
  --install) need g++-11 clang-19 libc++-19-dev libc++abi-19-dev ;;
  *) echo "usage: tools/checks/compilers.sh [--install]" >&2; exit 2 ;;
esac

# try COMPILER NAME FLAGS
try() {
  local build=$root/build/$2
  echo "--- $2: $("$1" --version | head -1)"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$1" -DCMAKE_CXX_FLAGS="$3" \
    -DMINIGPT_WERROR=ON -DMINIGPT_TESTS=ON -DMINIGPT_COMMAND=OFF >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target minigpt_headers test_tensor
  "$build/tests/test_tensor" --test-case='*with any compiler*,*masks do not change*' --minimal
}

count=0
for compiler in g++-1{1..5} clang++-1{4..9}; do
  command -v "$compiler" >/dev/null || continue
  try "$compiler" "$compiler" ""
  count=$((count + 1))
  case $compiler in clang*)
    if echo '#include <version>' | "$compiler" -stdlib=libc++ -fsyntax-only -x c++ - 2>/dev/null; then
      # Debian's libfmt was made with the other library: its sources serve as headers.
      try "$compiler" "$compiler-libc++" "-stdlib=libc++ -DFMT_HEADER_ONLY"
      count=$((count + 1))
    fi
    ;;
  esac
done
echo "$count combinations"
[ "$count" -gt 0 ]
