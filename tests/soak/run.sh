#!/usr/bin/env bash
# The soak test in its short form, and whether it finds what it is there for: run.sh MINIGPT PLANT-LIBRARY
set -euo pipefail
soak=$(dirname "$0")/../../tools/checks/soak.sh

echo "--- as it is"
"$soak" --short --command "$1"
# What is planted (see plant.cpp), and the line that must report it.
while read -r plant line; do
  echo "--- planted: $plant"
  if SOAK_PLANT=$plant "$soak" --short 1500 --command "$1" --preload "$2" >soak.log; then
    cat soak.log && echo "not found" && exit 1
  fi
  grep "^FAILED  $line" soak.log || { cat soak.log && echo "found, but not by '$line'" && exit 1; }
done <<'END'
memory memory:
descriptor open descriptors:
thread threads:
file other files: left-
line history:
END
