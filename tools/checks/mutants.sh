#!/usr/bin/env bash
# Do the tests notice? Plants every fault of the zoo (tools/zoo/), one at a time, and runs the tests until one fails.
#
#   tools/checks/mutants.sh                  builds in build/mutants, tries all faults, two at a time: about ten minutes
#   tools/checks/mutants.sh --build DIR      with the test programs that are in DIR already
#   tools/checks/mutants.sh 7 23             only these faults
#
# Prints, for each fault, the test that caught it and the seconds it took. Exit code 1 if a fault survives all tests, or if
# the tests fail without one.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
build=""
numbers=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=${2:?--build needs a folder}; shift ;;
    [1-9] | [1-9][0-9] | [1-9][0-9][0-9]) numbers+=("$1") ;;
    *) echo "usage: tools/checks/mutants.sh [--build DIR] [NUMBER ...]" >&2; exit 2 ;;
  esac
  shift
done

programs=(test_autograd test_nn test_models test_differential)
if [ -z "$build" ]; then
  . "$root/tools/packages.sh"
  need "${build_packages[@]}" doctest-dev
  build=$root/build/mutants
  cmake -S "$root" -B "$build" -G Ninja -DMINIGPT_TESTS=ON -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$build" -j "$(nproc)" --target "${programs[@]}" minigpt_command
fi
build=$(cd "$build" && pwd)
export build

# The operations that each fault is planted in, one line a fault.
mapfile -t operations < <("$build/minigpt" zoo list --answers --json | grep -o '"operations":"[^"]*"' | cut -d'"' -f4)
[ ${#numbers[@]} -gt 0 ] || mapfile -t numbers < <(seq ${#operations[@]})

echo "without a fault:"
for program in "${programs[@]}"; do
  [ "$program" = test_differential ] && few=(--expressions 2000) || few=()
  if ! MINIGPT_ZOO='' "$build/tests/$program" "${few[@]}" >"$build/mutants.log" 2>&1; then
    echo "$program fails without any fault; nothing can be learnt from it" >&2
    exit 1
  fi
  echo "  $program passes"
done

# try NUMBER OPERATION ...: one line of the table. The tests of the operations and of attention come first, then all others.
try() {
  local number=$1 began=$SECONDS own="" op program out code name
  shift
  local ops="$*"
  for op in "$@"; do [ "$op" = "*" ] || own+="${own:+,}*$op*"; done
  caught() { # PROGRAM ARGUMENTS: prints and succeeds if it fails
    code=0
    out=$(MINIGPT_ZOO=$number timeout 900 "$build/tests/$1" "${@:2}" 2>&1) || code=$?
    [ "$code" -ne 0 ] || return 1
    name=$(awk '/^TEST CASE:/ { sub(/^TEST CASE: */, ""); n = $0 } /ERROR:/ { print n; exit } /^FAILED/ { print; exit }' <<<"$out")
    name=${name:-exit code $code}
    printf '%3d  %-22s %-18s %-100s %3d s\n' "$number" "${ops:0:22}" "$1" "${name:0:100}" $((SECONDS - began))
  }
  local first=(--abort-after=1 --no-colors=true)
  caught test_autograd "${first[@]}" --test-case="${own:-*engine*}" && return
  caught test_nn "${first[@]}" --test-case='*attention*' && return
  for program in test_autograd test_nn test_models; do caught "$program" "${first[@]}" && return; done
  caught test_differential --expressions 2000 && return
  printf '%3d  %-22s SURVIVES\n' "$number" "$ops"
}
export -f try

echo "with each fault, the test that fails:"
set -f
for number in "${numbers[@]}"; do
  [ "$number" -le ${#operations[@]} ] || { echo "there is no fault $number" >&2; exit 2; }
  printf '%s %s\0' "$number" "${operations[$((number - 1))]}"
done | xargs -0 -P 2 -I{} bash -c 'set -f; try {}' | tee "$build/mutants.txt"

survivors=$(grep -c SURVIVES "$build/mutants.txt" || true)
echo "${#numbers[@]} faults, $survivors not noticed"
[ "$survivors" -eq 0 ]
