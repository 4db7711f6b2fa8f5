#!/usr/bin/env bash
# Which lines of the library the tests run. Builds the tests of the layers with Clang's line counters in build/coverage,
# runs them, and prints the share of lines that ran: per folder, in total, and per file with the lines that did not.
# Exit code 1 if a folder is below the limit.
#
#   tools/checks/coverage.sh           builds, runs, reports: a quarter of an hour on two cores
#   tools/checks/coverage.sh --report  reports on the last run again
#
# A line of a kernel counts as run if it ran for one instruction set. Headers of instruction sets that this CPU lacks
# are left out, and said. Limit: MINIGPT_COVERAGE_LIMIT, 95 percent by default.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/packages.sh"
need "${build_packages[@]}" doctest-dev clang llvm
build=$root/build/coverage
layers=(tensor autograd nn models)
programs=("${layers[@]/#/$build/tests/test_}")

if [ "${1:-}" != --report ]; then
  # As little optimisation as keeps the tests bearable; without NDEBUG, as in a debug build.
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DMINIGPT_COVERAGE=ON -DMINIGPT_TESTS=ON -DMINIGPT_COMMAND=OFF >/dev/null
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "${layers[@]/#/test_}"
  rm -f "$build"/*.profraw
  for layer in "${layers[@]}"; do
    echo "--- $layer"
    LLVM_PROFILE_FILE=$build/$layer-%p.profraw "$build/tests/test_$layer"
  done
  llvm-profdata merge -sparse -o "$build/all.profdata" "$build"/*.profraw
  rm -f "$build"/*.profraw
fi

# Instruction sets that no test can run here.
skip='tensor/simd/neon[.]h'
grep -qw avx512f /proc/cpuinfo || skip="$skip|tensor/simd/avx512[.]h"
grep -qw avx512_bf16 /proc/cpuinfo || skip="$skip|tensor/kernels/gemm_bf16[.]cpp"
echo "left out, as this CPU cannot run them: ${skip//[][]/}"

llvm-cov export -format=lcov -instr-profile="$build/all.profdata" "${programs[@]/#/-object=}" 2>/dev/null |
  awk -v root="$root/" -v skip="^($skip)$" -v limit="${MINIGPT_COVERAGE_LIMIT:-95}" -f "$root/tools/checks/coverage.awk"
