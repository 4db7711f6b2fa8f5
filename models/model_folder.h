#pragma once
// A model is a folder of open formats:
//
//   config.json         every setting of the run
//   tokenizer.json      the vocabulary
//   model.safetensors   the weights with the best validation loss so far; what sampling and evaluation use
//   metrics.jsonl       one line per logged step and per evaluation
//   metrics.csv         the same as a table
//   watch.jsonl         gradients, weights and layers of watched steps, if they were asked for (models/watch.h)
//   NAME.damaged        a log as a resumed run found it, if lines of it could not be read or were another run's
//   last/               the newest complete state, to resume from: model.safetensors, optimizer.safetensors, state.json
//
// Every save replaces a file or folder in one piece, so a crash leaves the old state or the new one. What is damaged later, or
// put together from two runs, is noticed: every file but the logs carries its own checksum, weights also name the settings,
// the vocabulary and the text that they belong to ("minigpt.settings", ... in the free text of their header), and state.json
// names the very files it was saved with, and how long the logs were. Folders from before that are read as they are.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "models/gpt.h"
#include "models/tokenizer.h"
#include "models/train_config.h"
#include "nn/checksum.h"
#include "tensor/generator.h"

namespace minigpt {

// What a run needs to go on exactly where it stopped, besides weights and optimiser.
struct TrainState {
  std::int64_t step = 0;  // updates made
  GeneratorState generator;
  std::vector<std::int64_t> batch_offsets;  // the batch in hand, drawn but not used yet
  std::optional<double> best_loss;          // of the weights in model.safetensors; none before an evaluation
  std::int64_t best_step = 0;
  std::int64_t evaluations_since_best = 0;
  std::string text_fingerprint;
  std::string data_path;   // as given; "" for the built-in text
  std::string kernel_set;  // results are bit-identical only on the same one
  // Checksums of what it belongs to, and of its files; "" in states of version 1.
  std::string settings;                  // settings_checksum()
  std::string tokenizer;                 // of the vocabulary
  std::string weights, optimizer, best;  // of last/model, last/optimizer and model.safetensors
  std::map<std::string, FileSeal> logs;  // by name: what a log held when the state was saved
  // The same without the evaluation of this very step, which a run that goes on drops and makes anew in its time.
  std::map<std::string, FileSeal> log_starts;
};

std::string to_json(const TrainState& state);
// Throws Error that names `source` if anything is missing or wrong.
TrainState train_state_from_json(std::string_view json, std::string_view source);

class ModelFolder {
 public:
  explicit ModelFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path tokenizer() const { return path_ / "tokenizer.json"; }
  std::filesystem::path weights() const { return path_ / "model.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path metrics_table() const { return path_ / "metrics.csv"; }
  std::filesystem::path watch() const { return path_ / "watch.jsonl"; }
  std::filesystem::path last() const { return path_ / "last"; }
  // All of the above that a run writes: what a new run in the folder would replace.
  std::vector<std::filesystem::path> files() const {
    return {config(), tokenizer(), weights(), metrics(), metrics_table(), watch(), last()};
  }

  // Is there a run that can be resumed?
  bool has_last() const;
  // Are there weights in it, which a new run would overwrite?
  bool has_model() const;

  // Throws Error, beginning with the path, if the folder or a file is missing or wrong.
  TrainConfig load_config() const;
  CharTokenizer load_tokenizer() const;

  void save_config(const TrainConfig& config) const;
  // Returns the file's checksum. The state says what the weights belong to.
  std::string save_best(const std::vector<NamedParameter>& parameters, const TrainState& state = {}) const;
  void save_last(const std::vector<NamedParameter>& parameters, const Optimizer& optimizer,
                 const TrainState& state) const;
  // The state of last/ alone.
  TrainState load_state() const;
  // Puts weights, optimiser and state back. Everything is read and checked before anything is changed: also that the state
  // belongs to the settings and the vocabulary of `own`.
  TrainState load_last(const std::vector<NamedParameter>& parameters, Optimizer& optimizer,
                       const TrainState& own = {}) const;

  // For a run that goes on: Error unless the state belongs to these settings and this vocabulary, and unless the best weights
  // are those that the state speaks of (or newer ones, saved after it). False if there should be some and are not.
  void check_state(const TrainState& state, const TrainConfig& config, const CharTokenizer& tokenizer) const;
  bool check_best(const TrainState& state) const;

 private:
  std::filesystem::path path_;
};

// A trained model, ready to use.
struct LoadedModel {
  TrainConfig config;
  CharTokenizer tokenizer;
  std::unique_ptr<Gpt> model;
  std::vector<std::string> warnings;  // one line each, such as weights that are not finite
};

// Loads the best weights of a folder (the last ones if there are no best ones yet). The model's constructor draws its
// initial values from rng before they are overwritten, as nanoGPT's sample.py does, so a seeded rng goes on from there.
LoadedModel load_model(const std::filesystem::path& folder, Generator& rng);

}  // namespace minigpt
