#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz with Clang, AddressSanitizer and UndefinedBehaviorSanitizer, and runs them.
#
#   tools/checks/fuzz.sh                         every target for a few seconds: part of the tests
#   tools/checks/fuzz.sh --runs 100000 state     so many executions of each target named
#   tools/checks/fuzz.sh --minutes 10            so long for each target
#   tools/checks/fuzz.sh --long                  10 million executions of each parser, 1 million of folder and command: hours
#   tools/checks/fuzz.sh --update                long or not, keep what was found in tests/fuzz/corpus, as small as it can be
#
# The corpus of the repository is only read; what a run finds beyond it stays in build/fuzz/corpus and is used again. Exit code 1
# after a finding, with the command that reproduces it.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/packages.sh"
parsers=(safetensors config tokenizer state text)
all=("${parsers[@]}" folder command)
runs= minutes= long=false update=false targets=()
usage() {
  echo "usage: tools/checks/fuzz.sh [--runs N | --minutes M | --long] [--update] [${all[*]}]" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case "$1" in
    --runs) runs=${2:?}; shift ;;
    --minutes) minutes=${2:?}; shift ;;
    --long) long=true ;;
    --update) update=true ;;
    -*) usage ;;
    *) [[ " ${all[*]} " == *" $1 "* ]] || usage; targets+=("$1") ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
need "${build_packages[@]}" clang
compiler=${CLANGXX:-clang++}
need "libclang-rt-$("$compiler" -dumpversion | cut -d. -f1)-dev"

build=$root/build/fuzz
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DMINIGPT_TESTS=OFF -DMINIGPT_REPORT=OFF -DMINIGPT_HARDEN=OFF -DMINIGPT_FUZZ=ON >/dev/null
cmake --build "$build" -j "$(nproc)" --target "${targets[@]/#/fuzz_}"

# Folders are written in memory where that is possible, and everything that a run leaves is removed.
memory=/dev/shm
[ -w "$memory" ] || memory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory/minigpt-fuzz-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
# No stacks of allocations, and no memory kept back for long: a third faster. (A finding tells its stacks when it is reproduced.)
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=4 UBSAN_OPTIONS=print_stacktrace=1

# How long a target runs.
amount() {
  if [ -n "$runs" ]; then
    echo "-runs=$runs"
  elif [ -n "$minutes" ]; then
    echo "-max_total_time=$((minutes * 60))"
  elif $long; then
    case "$1" in folder | command) echo "-runs=1000000" ;; *) echo "-runs=10000000" ;; esac
  else
    echo "-max_total_time=6"
  fi
}

# The longest input: what the format needs, since time goes with length.
longest() {
  case "$1" in text) echo 512 ;; tokenizer) echo 1024 ;; config | command) echo 2048 ;; state) echo 8192 ;; *) echo 4096 ;; esac
}

# No input of a few kB is worth an allocation of more than 64 MB, or a second.
fuzz() {
  local target=$1 kept=$build/corpus/$1 log=$build/$1.log
  mkdir -p "$kept"
  local options=(-timeout=10 -malloc_limit_mb=64 -rss_limit_mb=2048 -print_final_stats=1
    "-max_len=$(longest "$1")" "$(amount "$1")")
  [ -f "$root/tests/fuzz/$target.dict" ] && options+=("-dict=$root/tests/fuzz/$target.dict")
  if "$build/tests/fuzz/fuzz_$target" "$kept" "$root/tests/fuzz/corpus/$target" "${options[@]}" \
    -artifact_prefix="$build/$target-" >"$log" 2>&1; then
    awk -v name="$target" '/number_of_executed_units/ {n = $2} /average_exec_per_sec/ {r = $2}
      END {printf "%-12s %10d executions, %6d a second, no finding\n", name, n, r}' "$log"
  else
    echo "$target: a finding; the end of $log:"
    tail -n 40 "$log"
    echo "reproduce it with:  build/fuzz/tests/fuzz/fuzz_$target $(grep -o "$build/$target-[a-z]*-[0-9a-f]*" "$log" | head -n 1)"
    return 1
  fi
}

# As many at once as there are cores.
failed=0
running=0
for target in "${targets[@]}"; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done

if $update && [ "$failed" -eq 0 ]; then
  for target in "${targets[@]}"; do
    corpus=$root/tests/fuzz/corpus/$target
    "$build/tests/fuzz/fuzz_$target" -merge=1 "-max_len=$(longest "$target")" "$corpus" "$build/corpus/$target" >/dev/null 2>&1
  done
fi
exit "$failed"
