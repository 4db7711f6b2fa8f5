# Reads what `llvm-cov export -format=lcov` prints: SF:FILE, then DA:LINE,COUNT for each line that holds code.
# Prints the lines that never ran, file by file, and the share that did, folder by folder.

function percent(part, whole) { return whole ? 100 * part / whole : 100 }

# Ends a range of lines that did not run.
function close_range() {
  if (first) missed = missed " " (first == last ? first : first "-" last)
  first = 0
}

/^SF:/ {
  file = substr($0, 4)
  wanted = index(file, root) == 1
  file = substr(file, length(root) + 1)
  folder = substr(file, 1, index(file, "/") - 1)
  wanted = wanted && folder ~ /^(tensor|autograd|nn|models)$/ && file !~ skip
  lines = run = first = 0
  missed = ""
}

/^DA:/ && wanted {
  split(substr($0, 4), entry, ",")
  ++lines
  if (entry[2] > 0) {
    ++run
    close_range()
  } else {
    if (!first) first = entry[1]
    last = entry[1]
  }
}

/^end_of_record/ && wanted {
  close_range()
  if (missed) printf "%5.1f %%  %s:%s\n", percent(run, lines), file, missed
  all[folder] += lines
  ran[folder] += run
}

END {
  print ""
  split("tensor autograd nn models", order, " ")
  for (i = 1; i <= 4; ++i) {
    folder = order[i]
    printf "%-10s %6.2f %% of %6d lines\n", folder, percent(ran[folder], all[folder]), all[folder]
    if (!all[folder] || percent(ran[folder], all[folder]) < limit) low = low " " folder
    total += all[folder]
    total_ran += ran[folder]
  }
  printf "%-10s %6.2f %% of %6d lines\n", "total", percent(total_ran, total), total
  if (low) {
    print "below " limit " %:" low > "/dev/stderr"
    exit 1
  }
}
