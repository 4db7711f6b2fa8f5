#!/usr/bin/env bash
# One training step, minigpt beside PyTorch, in turn on one machine.
#
#   tools/bench/compare.sh [--preset nanogpt-cpu|nanogpt-baby] [--threads N] [--dtype f32|bf16] [--compile] [--rounds N]
#                          [--steps N] [--trial-steps N] [--data FILE] [--minigpt PATH] [--python "COMMAND"]
#
# PyTorch's speed depends on its BLAS and on its threads, so first every BLAS that Debian has installed beside the chosen
# one is tried, with all threads and with one; PyTorch's best way then runs against minigpt, in --rounds rounds. COMMAND may
# have several words ("chroot /srv/trixie python3"): the script is handed to it on standard input.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
preset=nanogpt-cpu threads=$(nproc) dtype=f32 compile="" rounds=5 steps=20 trial_steps=8 data="" python=python3
minigpt=$here/../../build/minigpt

fail() {
  echo "compare.sh: $1" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --compile) compile=--compile; shift; continue ;;
    --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --preset | --threads | --dtype | --rounds | --steps | --trial-steps | --data | --minigpt | --python) ;;
    *) fail "there is no option '$1'; see --help" ;;
  esac
  [ $# -ge 2 ] || fail "$1 needs a value"
  name=${1#--}
  printf -v "${name//-/_}" %s "$2"
  shift 2
done
for name in threads rounds steps trial_steps; do
  [[ ${!name} =~ ^[1-9][0-9]*$ ]] || fail "--${name//_/-}: '${!name}' is not a whole number (1 or more)"
done
[ -x "$minigpt" ] || fail "$minigpt: no such program; build it, or name it with --minigpt"
$python -c "import torch" 2>/dev/null || fail "'$python' has no PyTorch (Debian: python3-torch); name another with --python"

# milliseconds out of a line of JSON
milliseconds() { sed -n 's/.*"ms_per_step": *\([0-9.eE+-]*\).*/\1/p'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# run_pytorch FOLDER THREADS STEPS: FOLDER holds the libblas.so.3 to use, "" for the system's choice
run_pytorch() {
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" OMP_NUM_THREADS=$2 \
    $python - --preset "$preset" --threads "$2" --steps "$3" --dtype "$dtype" $compile --json <"$here/pytorch_gpt.py" | milliseconds
}
run_minigpt() {
  "$minigpt" bench train --preset "$preset" --threads "$threads" --steps "$1" --dtype "$dtype" ${data:+--data "$data"} --json |
    milliseconds
}

first=$(run_minigpt "$trial_steps")
[ -n "$first" ] || fail "minigpt bench train failed"
# Asked of PyTorch's own system, which may be another one.
folders=$($python -c "import glob; print('\n'.join(sorted(f.rsplit('/', 1)[0] for f in glob.glob('/usr/lib/*/*/libblas.so.3')
    if 'openblas' in f or 'blis' in f)))")
counts=$threads
[ "$threads" -eq 1 ] || counts="$threads 1"

best="" best_folder="" best_threads=1
echo "PyTorch's ways, ms a step ($trial_steps steps each):"
for folder in "" $folders; do
  for count in $counts; do
    ms=$(run_pytorch "$folder" "$count" "$trial_steps") || ms=""
    if [ -z "$ms" ]; then
      echo "  ${folder:-chosen by the system}, $count threads: failed"
      continue
    fi
    printf '  %-46s %3d threads %10.1f\n' "${folder:-chosen by the system}" "$count" "$ms"
    if [ -z "$best" ] || awk -v a="$ms" -v b="$best" 'BEGIN { exit !(a < b) }'; then
      best=$ms best_folder=$folder best_threads=$count
    fi
  done
done
[ -n "$best" ] || fail "PyTorch failed in every way"

ours="" theirs="" ratios=""
for ((round = 1; round <= rounds; ++round)); do
  a=$(run_minigpt "$steps")
  b=$(run_pytorch "$best_folder" "$best_threads" "$steps")
  printf 'round %d: minigpt %.1f ms, PyTorch %.1f ms\n' "$round" "$a" "$b"
  ours+="$a"$'\n' theirs+="$b"$'\n' ratios+="$(ratio "$b" "$a")"$'\n'
done
a=$(printf %s "$ours" | median) b=$(printf %s "$theirs" | median) r=$(printf %s "$ratios" | median)
echo
printf '%s, %s%s, medians of %d rounds of %d steps\n' "$preset" "$dtype" "${compile:+, compiled}" "$rounds" "$steps"
printf '  minigpt  %10.1f ms a step  (%d threads)\n' "$a" "$threads"
printf '  PyTorch  %10.1f ms a step  (%d threads, %s)\n' "$b" "$best_threads" "${best_folder:-chosen by the system}"
printf '  PyTorch / minigpt: %s (median of the rounds: %s)\n' "$(ratio "$b" "$a")" "$r"
