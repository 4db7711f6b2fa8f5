#!/usr/bin/env bash
# One training step, sampling and a gradient check under valgrind's memcheck: no invalid access, no decision that depends on
# memory that was never written, no lost block. Installs valgrind if it is missing.
#
#   tools/checks/valgrind.sh            minutes, after a build of its own (build/valgrind)
#
# Valgrind knows no AVX-512 instructions; the CPU it shows the program has none, so the AVX2 kernels run. It also rounds long
# doubles to doubles, which minigpt does not use.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/packages.sh"
[ $# -eq 0 ] || { echo "usage: tools/checks/valgrind.sh" >&2; exit 2; }
need "${build_packages[@]}" valgrind libc6-dbg

# Freed tensors go back to the system at once, so that valgrind sees who uses one afterwards.
build=$root/build/valgrind
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMINIGPT_TESTS=OFF -DMINIGPT_REPORT=OFF \
  -DCMAKE_CXX_FLAGS="${CXXFLAGS:-} -DMINIGPT_NO_RECYCLING" >/dev/null
cmake --build "$build" -j "$(nproc)" --target minigpt_command

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for i in $(seq 60); do echo "the cat sat on mat number $i, and the dog did not."; done >"$work/text.txt"

# check NAME MINIGPT-ARGUMENT ... : an error of either program ends the script.
check() {
  local name=$1
  shift
  echo "--- $name: minigpt $*"
  valgrind --quiet --error-exitcode=99 --track-origins=yes --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect --num-callers=30 "$build/minigpt" "$@" >"$work/output" 2>&1 || {
    cat "$work/output" >&2
    echo "$name: see above" >&2
    exit 1
  }
}
# Odd sizes, so that every loop has a remainder; dropout, so that masks are drawn. The first is the model of the quick recipe,
# the second has everything that GPT-2 has instead.
sizes=(--layers 1 --heads 3 --block 13 --batch 3 --dropout 0.1 --threads 2 --data "$work/text.txt")
gpt2=(--positions learned --norm layer --norm-gain true --bias true --activation gelu --qk-norm false --zero-init false
  --tie-weights true --optimizer adamw)
check "one training step" train "${sizes[@]}" --channels 30 --steps 1 --watch 1 --out "$work/quick"
check "one step of the other parts, in bfloat16" train "${sizes[@]}" --channels 21 --steps 1 "${gpt2[@]}" --dtype bf16 --recompute \
  --out "$work/gpt2"
check "resuming" train --data "$work/text.txt" --resume --steps 2 --threads 2 --out "$work/quick"
check "sampling" sample --model "$work/quick" --prompt "the cat" --tokens 10 --samples 3 --seed 1
check "sampling in bfloat16, past the context" sample --model "$work/gpt2" --tokens 20 --dtype bf16 --window chunk --seed 1
check "evaluation" eval --model "$work/gpt2" --data "$work/text.txt"
check "gradient check" gradcheck
echo "nothing found"
