#!/usr/bin/env bash
# Installs what is missing, builds and runs the tests.
#
#   tools/test.sh             one compiler, Release, every test in its short form: a quarter of an hour on two cores
#   tools/test.sh --full      all of the checks below in their long form, one after the other: most of a day
#   tools/test.sh NAME ...    single checks of that list
#   tools/test.sh --list      what they are
#
# MINIGPT_REFERENCE names another folder of PyTorch results in the format of tests/reference.
# MINIGPT_DATA names a folder with tinyshakespeare.txt for the long tests on real text.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
. tools/packages.sh
jobs=$(nproc)

# build NAME CMAKE-OPTION ... : configures and builds in build/NAME.
build() {
  local folder=build/$1
  shift
  cmake -S . -B "$folder" -G Ninja -DMINIGPT_TESTS=ON "$@" >/dev/null
  cmake --build "$folder" -j "$jobs"
}
build_release() {
  need "${build_packages[@]}" doctest-dev binutils
  build test -DCMAKE_BUILD_TYPE=Release ${MINIGPT_WERROR:+-DMINIGPT_WERROR=ON}
}
run() { ctest --test-dir "build/$1" --output-on-failure "${@:2}"; }
sanitize() {
  need "${build_packages[@]}" doctest-dev binutils
  build "sanitize-${1%%,*}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMINIGPT_SANITIZE="$1"
  run "sanitize-${1%%,*}"
}
compiler() {
  need "${build_packages[@]}" doctest-dev binutils clang
  build "$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$1" -DMINIGPT_WERROR=ON
  MINIGPT_LONG_TESTS=1 run "$1"
}

# The checks: name, how long it takes on two cores, what it does. Each is a function check_NAME.
checks="
format        seconds   the layout of the sources (clang-format)
tidy          1.5 h     mistakes that can be seen in the sources (clang-tidy)
gcc           20 min    GCC, warnings as errors, all tests in their long form
clang         20 min    the same with Clang
address       40 min    all tests under AddressSanitizer and UndefinedBehaviorSanitizer
thread        60 min    all tests under ThreadSanitizer
differential  1 h       random expressions against the scalar kernels, other threads, finite differences; a new seed each time
torch         10 min    random expressions against libtorch
fuzz          1.5 h     damaged files and command lines (libFuzzer)
crash         10 min    200 kills, full disks, missing rights, every file cut at every 97th byte
soak          30 min    20000 steps, watched from outside
valgrind      10 min    a training step under memcheck
coverage      20 min    which lines the tests never reach
mutants       10 min    wrong gradients, one at a time: does a test notice?
neon          20 min    the tensor layer on AArch64, emulated
compilers     15 min    Debian's oldest and newest compilers, and the other standard library
"
check_format() {
  need clang-format
  find tensor autograd nn models tools tests \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 clang-format --dry-run -Werror
}
check_tidy() { tools/checks/tidy.sh; }
check_gcc() { compiler g++; }
check_clang() { compiler clang++; }
check_address() { sanitize address,undefined,float-cast-overflow; }
check_thread() { sanitize thread; }
check_differential() { build_release; build/test/tests/test_differential --minutes 60; }
check_torch() {
  need "${build_packages[@]}" doctest-dev libtorch-dev
  cmake -S . -B build/torch -G Ninja -DCMAKE_BUILD_TYPE=Release -DMINIGPT_TESTS=ON -DMINIGPT_TORCH=ON >/dev/null
  cmake --build build/torch -j "$jobs" --target test_torch
  run torch -R '^torch$'
}
check_fuzz() { tools/checks/fuzz.sh --long; }
check_crash() { build_release; MINIGPT_LONG_TESTS=1 build/test/tests/test_crash; }
check_soak() { build_release; tools/checks/soak.sh --command build/test/minigpt; }
check_valgrind() { tools/checks/valgrind.sh; }
check_coverage() { tools/checks/coverage.sh; }
check_mutants() { build_release; tools/checks/mutants.sh --build build/test; }
check_neon() { tools/checks/neon.sh; }
check_compilers() { tools/checks/compilers.sh --install; }

names() { awk 'NF { print $1 }' <<<"$checks"; }
wanted=()
for argument in "$@"; do
  case "$argument" in
    --full) mapfile -t wanted < <(names) ;;
    --list) echo "${checks:1:-1}" && exit 0 ;;
    *)
      if ! names | grep -Fxq -- "$argument"; then
        echo "usage: tools/test.sh [--full | --list | NAME ...]; the names:" $(names) >&2
        exit 2
      fi
      wanted+=("$argument")
      ;;
  esac
done

if [ ${#wanted[@]} -eq 0 ]; then
  build_release
  run test
  # The fuzzer of the command line would take as long to build as all the others; its corpus is among the tests.
  tools/checks/fuzz.sh safetensors config tokenizer state text folder
  exit 0
fi

# One failure does not keep the others from running.
results=()
failed=0
for name in "${wanted[@]}"; do
  echo "--- $name"
  start=$SECONDS
  set +e # not `if (...)`: there a command that fails would not end the subshell
  (set -e; "check_$name")
  code=$?
  set -e
  verdict=passed
  [ $code = 0 ] || verdict=FAILED failed=1
  results+=("$(printf '%-8s %-14s %5d s' "$verdict" "$name" $((SECONDS - start)))")
done
echo "---"
printf '%s\n' "${results[@]}"
exit $failed
