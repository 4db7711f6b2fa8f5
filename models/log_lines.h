#pragma once
// Single lines of a run's logs, as models/metrics.h and models/watch.h describe them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace minigpt {

struct LogLine {
  std::int64_t step = 0;
  bool evaluation = false;
  std::optional<double>
      loss;  // of an evaluation: of the validation part, or of the training part if there is none
};

// What a line of the log `name` ("metrics.jsonl", "metrics.csv", "watch.jsonl") says; nothing if a run cannot have written it:
// it is not JSON, has no step, or something else stands where a number belongs. The header of a table is no line.
std::optional<LogLine> read_log_line(std::string_view name, std::string_view line);

}  // namespace minigpt
