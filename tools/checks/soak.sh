#!/usr/bin/env bash
# Soak test: trains for a long time and watches the process from outside. Does its memory grow? Does it lose
# descriptors or threads, become slower, leave files behind, or lose a line of its history?
#
#   tools/checks/soak.sh                    20000 steps of nanoGPT's small CPU model: about half an hour on two cores
#   tools/checks/soak.sh 5000 --data F      so many steps, on a text of your own
#   tools/checks/soak.sh --short            3000 steps of a tiny model, in seconds; speed is not judged
#
#   --command FILE   the minigpt to test (default: build/minigpt, built if it is missing)
#   --preload FILE   a library to load into the training process, for testing this test
#   -- OPTION ...    more options of `minigpt train`, such as --threads 1
#
# Everything at once that a long run may use: evaluations, a checkpoint every 100 steps, --watch, --tensorboard, and every
# now and then another process that writes text from the same folder. Exit code 0 if all is well, 1 if not.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
steps="" data="" short=false preload="" more=() minigpt=$root/build/minigpt
while [ $# -gt 0 ]; do
  case "$1" in
    --short) short=true ;;
    --data) data=$(realpath "$2") && shift ;;
    --command) minigpt=$(realpath "$2") && shift ;;
    --preload) preload=$(realpath "$2") && shift ;;
    --) shift && more=("$@") && break ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *[!0-9]* | "") echo "usage: tools/checks/soak.sh [STEPS] [--short] [--data FILE] [--command FILE] [--preload FILE] [-- OPTION ...]" >&2 && exit 2 ;;
    *) steps=$1 ;;
  esac
  shift
done
if [ ! -x "$minigpt" ]; then
  . "$root/tools/packages.sh"
  need "${build_packages[@]}"
  cmake -S "$root" -B "$root/build" -G Ninja -DMINIGPT_TESTS=OFF >/dev/null
  cmake --build "$root/build" --target minigpt_command
fi

# settled: from this step on memory must be flat. Both forms evaluate, watch and save several times before.
if $short; then
  steps=${steps:-3000} settled=500 every=25 save=50 evaluate=100 watch=10 texts=20 pause=0.02 slack=64
  data=${data:-$root/README.md} # a short text, so that what is lost shows early
  size=(--layers 2 --heads 2 --channels 16 --block 16 --batch 4 --eval-batches 2)
else
  steps=${steps:-20000} settled=1000 every=100 save=100 evaluate=250 watch=100 texts=20 pause=0.2 slack=0
  size=()
fi
if [ "$steps" -lt $((3 * settled)) ]; then
  echo "soak.sh: fewer than $((3 * settled)) steps say nothing" >&2
  exit 2
fi

folder=$(mktemp -d)
trap 'exit 130' INT TERM # runs the next one
trap '[ -n "${pid:-}" ] && kill -KILL "$pid" 2>/dev/null; rm -rf "$folder"' EXIT
model=$folder/model
LD_PRELOAD=$preload "$minigpt" train --preset nanogpt-cpu ${data:+--data "$data"} --out "$model" --steps "$steps" \
  --lr-decay-steps "$steps" "${size[@]}" --eval-every $evaluate --save-every $save --watch $watch --tensorboard \
  "${more[@]}" >"$folder/log" 2>&1 &
pid=$!

# Sets variable $1 to the one line that the system has on the process; false if it is gone. (Not with $(<file): where there is
# no such file, that ends a script with `set -e` even in a condition.)
state() { read -r "$1" 2>/dev/null <"/proc/$pid/stat"; }

# Stops the process outside of a save: that one holds a buffer and some files for a moment, and on a slow disk most moments
# fall into one.
stopped() {
  local stat
  while state stat; do
    [[ ${stat##*) } != Z* ]] || return 1 # it has ended
    [[ ${stat##*) } != T* ]] || return 0
    kill -STOP "$pid" 2>/dev/null || return 1
  done
  return 1
}
between_saves() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    stopped || return 1
    compgen -G "$model/.minigpt-tmp-*" >/dev/null || return 0
    kill -CONT "$pid"
    sleep 0.005
  done
  stopped
}

# One line a record: the step, memory of its own in KiB, descriptors, threads, CPU time in ticks, and the bytes of all files
# in the folder that are not logs.
page=$(($(getconf PAGESIZE) / 1024))
last_step() { tail -n 1 "$model/metrics.jsonl" 2>/dev/null | sed -n 's/^{"step":\([0-9]*\),.*/\1/p' || true; }
record() {
  local descriptors=("/proc/$pid/fd/"*) stat resident shared kept
  read -r _ resident shared _ <"/proc/$pid/statm" || return 1
  state stat || return 1
  read -ra stat <<<"${stat##*) }" # after the name: state is number 0, so number n of proc(5) is stat[n - 3]
  kept=$(find "$model" -type f ! -name 'metrics.*' ! -name watch.jsonl ! -name 'events.*' -printf '%s\n' 2>/dev/null |
    awk '{ bytes += $1 } END { print bytes + 0 }')
  echo "$1 $(((resident - shared) * page)) ${#descriptors[@]} ${stat[17]} $((stat[11] + stat[12])) $kept"
}
next=1 records=0 written=0
while kill -0 "$pid" 2>/dev/null; do
  step=$(last_step)
  if [ "${step:-0}" -ge "$next" ] && between_saves; then
    step=$(last_step)
    [ -z "$step" ] || [ "$step" -ge "$steps" ] || record "$step" >>"$folder/records" # after the last step it closes its files
    kill -CONT "$pid" || true
    next=$((step / every * every + every)) records=$((records + 1))
    if [ $((records % texts)) = 0 ]; then # meanwhile, somebody uses the model
      "$minigpt" sample --model "$model" --tokens 50 --seed "$step" --threads 1 >"$folder/text" 2>"$folder/sample.err" ||
        { cat "$folder/sample.err" && echo "FAILED: sample from the folder at step $step" && exit 1; }
      written=$((written + 1))
    fi
  fi
  sleep $pause
done
code=0
wait "$pid" || code=$?
pid=""
if [ $code != 0 ]; then
  tail -n 3 "$folder/log"
  echo "FAILED: train ended with exit code $code"
  exit 1
fi

files=$(cd "$model" && find . -type f -printf '%P\n' | sed 's/^events\..*/events/' | sort | tr '\n' ' ')
expected="config.json events last/model.safetensors last/optimizer.safetensors last/state.json metrics.csv metrics.jsonl
  model.safetensors tokenizer.json watch.jsonl"
expected=$(echo $expected)

# --- The verdict ---------------------------------------------------------------------------------------------------
# Of the records in steps FROM to TO: column COLUMN, in order of size.
column() { awk -v c="$1" -v from="$2" -v to="$3" '$1 >= from && $1 <= to { print $c }' "$folder/records" | sort -g; }
smallest() { column "$@" | head -n 1; }
median() { column "$@" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# The median CPU time per step in ms, from one record to the next.
cost() {
  awk -v from="$1" -v to="$2" -v ticks="$(getconf CLK_TCK)" \
    '$1 >= from && $1 <= to { if (step) print 1000 / ticks * ($5 - cpu) / ($1 - step); step = $1; cpu = $5 }' \
    "$folder/records" | sort -g | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'
}
failed=0
# verdict TEXT CONDITION : prints the text and whether the condition, in awk's language, holds.
verdict() {
  if awk "BEGIN { exit !($2) }"; then echo "ok      $1"; else echo "FAILED  $1" && failed=1; fi
}

awk 'NR == 1 { print "  step  memory KiB  descriptors  threads" }
     $1 >= at { printf "%6d %11d %12d %8d\n", $1, $2, $3, $4; at = $1 < settled ? settled : 2 * at }
     END { printf "%6d %11d %12d %8d\n", $1, $2, $3, $4 }' settled=$settled \
  "$folder/records"

# Steps that are compared: an early stretch, and the last tenth, of at least three records each. Medians and smallest
# values, since a record may fall into an evaluation.
third=$(column 1 "$settled" "$steps" | sed -n 3p) last=$(column 1 1 "$steps" | tail -n 3 | head -n 1)
if [ -z "$third" ] || [ "$third" -ge "$last" ]; then
  echo "FAILED  too few records: the run was faster than its watcher"
  exit 1
fi
early=("$settled" $((third > 2 * settled ? third : 2 * settled)))
late=($((last < steps * 9 / 10 ? last : steps * 9 / 10)) "$steps")
m0=$(median 2 "${early[@]}") m1=$(median 2 "${late[@]}")
verdict "memory: $m0 KiB in steps ${early[0]} to ${early[1]}, $m1 KiB from step ${late[0]} on" "$m1 <= 1.01 * $m0 + $slack"
d0=$(smallest 3 "${early[@]}") d1=$(smallest 3 "${late[@]}")
verdict "open descriptors: $d0, then $d1" "$d1 <= $d0"
t0=$(smallest 4 "${early[@]}") t1=$(smallest 4 "${late[@]}")
verdict "threads: $t0, then $t1" "$t1 == $t0"
k0=$(smallest 6 "${early[@]}") k1=$(smallest 6 "${late[@]}")
verdict "files that are kept: $k0 bytes, then $k1" "$k1 <= 1.01 * $k0"
other=$(for file in $files; do [[ " $expected " == *" $file "* ]] || echo "$file"; done | tr '\n' ' ')
verdict "other files: ${other:-none}" "\"$files\" == \"$expected \""
c0=$(cost $((steps / 10)) $((steps / 5))) c1=$(cost "${late[@]}")
text="CPU time: $c0 ms per step in the second tenth, $c1 in the last"
if $short; then echo "        $text (not judged)"; else verdict "$text" "$c1 <= 1.1 * $c0"; fi

# The history: every step and every evaluation once and in order, in both files; and every watched step.
missing=$(awk -F '[:,]' -v n="$steps" -v e=$evaluate '
  function want(what) { if ($0 !~ what || $2 != step) { print "line " NR ": " $0; bad = 1; exit } }
  /train_loss/ { want("val_loss"); if (step % e && step != n) { print "evaluation at " step; bad = 1; exit }; evaluations++; next }
  { want("tokens_per_s"); step++ }
  END { if (!bad && (step != n || evaluations != int((n + e - 1) / e) + 1)) print step " steps, " evaluations " evaluations" }
  ' "$model/metrics.jsonl")
lines=$(wc -l <"$model/metrics.jsonl") rows=$(wc -l <"$model/metrics.csv") watched=$(wc -l <"$model/watch.jsonl")
verdict "history: $lines lines ${missing:+(missing: $missing)}" "\"$(echo "$missing" | tr -d '"')\" == \"\""
verdict "table: $rows rows; watched steps: $watched" "$rows == $lines + 1 && $watched == int(($steps + $watch - 1) / $watch)"
for log in metrics.jsonl metrics.csv watch.jsonl 'events.*'; do
  echo "        $log: $(cat "$model"/$log | wc -c | awk -v n="$steps" '{ printf "%.0f", $1 / n }') bytes per step"
done
echo "        $written texts written from the folder meanwhile"
exit $failed
