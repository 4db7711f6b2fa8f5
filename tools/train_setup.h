#pragma once
// Puts together what a run needs from presets, files and options, and refuses what does not fit, before anything starts.

#include <memory>
#include <optional>

#include "models/model_folder.h"
#include "tools/arguments.h"

namespace minigpt::tools {

// What was asked for on the command line, besides the settings.
struct TrainRequest {
  std::string data, out = "model", preset, config_file, init_from;  // "" if not given
  bool resume = false;
  bool overwrite = false;
};

struct TrainSetup {
  TrainConfig config;
  ModelFolder folder;
  std::optional<CharTokenizer> tokenizer;
  std::u32string text;
  std::string data_path;           // "" for the built-in text
  std::string data_name;           // for messages
  std::unique_ptr<Gpt> init_from;  // the model to start from
  std::vector<std::string> notes;  // worth telling the user

  // Removes the model that a new run replaces.
  void clear_folder() const;
};

// check_room() for a new run; prepare() calls it first of all.
std::string room_for(const ModelFolder& folder, const TrainRequest& request);

TrainSetup prepare(const TrainRequest& request, const ConfigOptions& options);

}  // namespace minigpt::tools
