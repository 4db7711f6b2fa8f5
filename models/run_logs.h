#pragma once
// The logs of a run that goes on: metrics.jsonl, metrics.csv, watch.jsonl and TensorBoard's files, compared with what they
// were.

#include <string>
#include <vector>

#include "models/model_folder.h"

namespace minigpt {

// What a run that goes on has to do about a log.
enum class LogRemedy {
  none,        // nothing: every line that is left can be read
  drop_lines,  // go on with the lines that can be read
  begin_anew,  // none of it is this run's
};

struct LogDamage {
  std::string name;  // of the log, as in TrainState::logs
  std::string text;  // one line that begins with its path
  LogRemedy remedy = LogRemedy::none;
};

// What is wrong with the logs of a folder: a log that is missing, was cut back before the state or changed, with the steps that
// are missing in it and the lines that can't be read. Empty if all is well. A state of version 1 does not say what the logs
// held; then only steps that are missing in metrics.jsonl are found. Changes nothing. Throws Error if a log can't be read.
std::vector<LogDamage> damaged_logs(const ModelFolder& folder, const TrainState& state);

// What is wrong with the history that a folder shows, for a reader that changes nothing: metrics.jsonl and watch.jsonl, compared
// with the state if there is one, and lines that cannot be read. One line each. Throws Error if a log can't be read.
std::vector<std::string> history_damage(const ModelFolder& folder);

// Where a damaged log is kept as it is: "metrics.jsonl.damaged", or "metrics.jsonl.damaged-2" if that is taken, ...
std::filesystem::path damaged_copy(const ModelFolder& folder, const std::string& name);

// Copies the log to damaged_copy() and leaves in it what its remedy says, of the steps before the state. A crash leaves the log
// as it was or as it shall be. Throws RunError.
void mend_log(const ModelFolder& folder, const TrainState& state, const LogDamage& damage);

// Cuts off what was added to the logs after the state, by a run that was killed later. Logs that are damaged should have been
// taken out of the state. Throws RunError.
void cut_logs(const ModelFolder& folder, const TrainState& state);

}  // namespace minigpt
