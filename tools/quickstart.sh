#!/usr/bin/env bash
# From nothing to generated text: installs what is missing, builds, trains for two or three minutes, prints samples.
#
#   tools/quickstart.sh                      trains on minigpt's own source code
#   tools/quickstart.sh --data my.txt        trains on any UTF-8 text; all options of `minigpt train` are passed on
set -euo pipefail

rehearsal=""
for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,5s/^# \{0,1\}//p' "$0"
      echo "The options: build/minigpt train --help"
      exit 0
      ;;
    --dry-run | --dry-run=true) rehearsal=1 ;;
  esac
done

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tools/packages.sh"
need "${build_packages[@]}"

build=${MINIGPT_BUILD_DIR:-$root/build}
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMINIGPT_TESTS=OFF >/dev/null
cmake --build "$build" --target minigpt_command

# A free folder for the model, unless one is named.
out=""
previous=""
for argument in "$@"; do
  case "$argument" in --out=*) out=${argument#--out=} ;; esac
  [ "$previous" = --out ] && out=$argument
  previous=$argument
done
extra=()
if [ -z "$out" ]; then
  number=1
  while [ -e "$root/runs/quick-$number" ]; do number=$((number + 1)); done
  out=$root/runs/quick-$number
  extra=(--out "$out")
fi

"$build/minigpt" train "${extra[@]}" "$@"
[ -z "$rehearsal" ] || exit 0 # there is no model to sample from
echo
echo "=== what the model writes ==="
"$build/minigpt" sample --model "$out" --tokens 400 --samples 2 --seed 1
echo
echo "The model lies in $out. More text:"
echo "  $build/minigpt sample --model $out --tokens 1000"
