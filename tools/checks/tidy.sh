#!/usr/bin/env bash
# Mistakes that can be seen in the sources: clang-tidy over all that ships, with the rules of .clang-tidy.
#
#   tools/checks/tidy.sh            everything: more than an hour on two cores
#   tools/checks/tidy.sh FILE ...   these sources
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
. tools/packages.sh
need "${build_packages[@]}" clang clang-tidy
# A Clang build's flags, without precompiled headers, which clang-tidy cannot always read.
cmake -S . -B build/tidy -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DMINIGPT_TESTS=OFF -DMINIGPT_REPORT=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find tensor autograd nn models tools -name '*.cpp' ! -path 'tools/report/page.cpp' | sort)
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 4 clang-tidy -p build/tidy --quiet
