#pragma once
// The logs of a run that goes on: metrics.jsonl, metrics.csv, watch.jsonl and TensorBoard's files, compared with what they
// were.

#include <string>
#include <vector>

#include "models/model_folder.h"

namespace minigpt {

struct LogDamage {
  std::string name;  // of the log, as in TrainState::logs
  std::string text;  // one line that begins with its path
};

// What is wrong with the logs of a folder: a log that is missing, was cut back before the state or changed, with the steps that
// are missing in it and the lines that can't be read. Empty if all is well. A state of version 1 does not say what the logs
// held; then only steps that are missing in metrics.jsonl are found. Changes nothing. Throws Error if a log can't be read.
std::vector<LogDamage> damaged_logs(const ModelFolder& folder, const TrainState& state);

// Cuts off what was added to the logs after the state, by a run that was killed later. Logs that are damaged should have been
// taken out of the state. Throws RunError.
void cut_logs(const ModelFolder& folder, const TrainState& state);

}  // namespace minigpt
