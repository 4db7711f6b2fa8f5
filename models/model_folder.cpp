#include "models/model_folder.h"

#include <algorithm>
#include <cstdlib>

#include "nn/files.h"
#include "nn/tensor_file.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

namespace fs = std::filesystem;
using Metadata = std::map<std::string, std::string>;

// A folder without the right to look into it is another thing than an empty one.
bool is_there(const fs::path& path) {
  std::error_code error;
  const bool found = fs::exists(path, error);
  check(!error || error == std::errc::not_a_directory, "model", "{}: cannot be looked at: {}", path.string(),
        error.message());
  return found;
}

// The name of the first parameter that holds a NaN or an infinity, "" if there is none.
std::string first_not_finite(const std::vector<NamedParameter>& parameters) {
  for (const NamedParameter& p : parameters)
    if (!all_finite(p.variable.value())) return p.name;
  return "";
}

// Refuses a configuration that the stored weights are far too few for, before a model of 30 GB is made to compare them
// with. Smaller ones are made, since the comparison then says which tensors differ.
void check_size(const ModelFolder& folder, const GptConfig& config) {
  constexpr double kSmall = 64e6;
  std::uintmax_t stored = 0;
  for (const fs::path& file : {folder.weights(), folder.last() / "model.safetensors"}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (!error) stored = std::max(stored, size);
  }
  const auto channels = static_cast<double>(config.n_embd);
  const double needed =  // bytes, in float32
      4 * (static_cast<double>(config.n_layer) * 12 * channels + static_cast<double>(config.vocab_size)) *
      channels;
  check(needed <= std::max(kSmall, static_cast<double>(stored)), "model",
        "{}: describes a model of at least {:.0f} MB, but the weights beside it have {} bytes",
        folder.config().string(), needed / 1e6, stored);
}

// What weights belong to, for the free text of their file.
Metadata origin_of(const TrainState& state, Metadata metadata) {
  if (state.settings.empty()) return metadata;
  metadata["minigpt.step"] = std::to_string(state.step);
  metadata["minigpt.settings"] = state.settings;
  metadata["minigpt.tokenizer"] = state.tokenizer;
  metadata["minigpt.text"] = state.text_fingerprint;
  return metadata;
}

// Throws Error if the free text says that the weights belong to something else; what is "" is not known.
void check_origin(const Metadata& metadata, const fs::path& file, const std::string& settings,
                  const std::string& tokenizer, const std::string& text) {
  const auto entry = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (!metadata.contains("minigpt.step")) return;
  check(metadata.contains("minigpt.checksum"), "model", "{}: the file is damaged: it has lost its checksum",
        file.string());
  const auto differ = [&](const char* key, const std::string& wanted) {
    return !wanted.empty() && entry(key) != wanted;
  };
  check(!differ("minigpt.settings", settings), "model",
        "{}: these weights were made with other settings than those in config.json", file.string());
  check(!differ("minigpt.tokenizer", tokenizer), "model",
        "{}: these weights were made with another vocabulary than that in tokenizer.json", file.string());
  check(!differ("minigpt.text", text), "model",
        "{}: these weights were trained on another text than config.json names", file.string());
}

void check_vocabulary(const fs::path& folder, const TrainConfig& config, const CharTokenizer& tokenizer) {
  check(tokenizer.vocab_size() == config.model.vocab_size, "model",
        "{}: tokenizer.json has {} entries, config.json says vocab_size {}", folder.string(),
        tokenizer.vocab_size(), config.model.vocab_size);
}

}  // namespace

bool ModelFolder::has_last() const { return is_there(last() / "state.json"); }

bool ModelFolder::has_model() const { return is_there(weights()) || is_there(last()); }

TrainConfig ModelFolder::load_config() const {
  check(is_there(path_), "model", "{}: no such folder", path_.string());
  check(is_there(config()), "model", "{}: not a model folder (it has no config.json)", path_.string());
  TrainConfig c;
  apply_json(c, read_file(config()), config().string(), true);
  c.model.validate();
  c.validate();
  check_size(*this, c.model);
  return c;
}

CharTokenizer ModelFolder::load_tokenizer() const { return CharTokenizer::load(tokenizer()); }

void ModelFolder::save_config(const TrainConfig& c) const { write_file_atomically(config(), to_json(c)); }

std::string ModelFolder::save_best(const std::vector<NamedParameter>& parameters,
                                   const TrainState& state) const {
  return save_tensors(weights(), parameter_tensors(parameters), origin_of(state, tie_metadata(parameters)));
}

void ModelFolder::save_last(const std::vector<NamedParameter>& parameters, const Optimizer& optimizer,
                            const TrainState& state) const {
  replace_directory(last(), [&](const fs::path& fresh) {
    TrainState sealed = state;
    sealed.weights = save_tensors(fresh / "model.safetensors", parameter_tensors(parameters),
                                  origin_of(state, tie_metadata(parameters)));
    sealed.optimizer = save_tensors(fresh / "optimizer.safetensors", optimizer.state());
    write_file_atomically(fresh / "state.json", to_json(sealed));
  });
}

TrainState ModelFolder::load_state() const {
  remove_leftovers(path_);
  // Behind a link the half-written folder lies beside the real one.
  std::error_code ignored;
  if (fs::is_symlink(last(), ignored)) remove_leftovers(fs::weakly_canonical(last(), ignored).parent_path());
  check(has_last(), "resume", "{}: there is no saved state to resume from (no last/state.json)",
        path_.string());
  const fs::path state_file = last() / "state.json";
  return train_state_from_json(read_file(state_file), state_file.string());
}

TrainState ModelFolder::load_last(const std::vector<NamedParameter>& parameters, Optimizer& optimizer,
                                  const TrainState& own) const {
  TrainState state = load_state();
  const fs::path weights_file = last() / "model.safetensors", memory_file = last() / "optimizer.safetensors";
  const auto load = [&](const fs::path& file, const std::string& wanted) {
    TensorFile loaded = load_tensor_file(file);
    check(wanted.empty() || loaded.metadata["minigpt.checksum"] == wanted, "resume",
          "{}: this is not the file that state.json was saved with", file.string());
    return loaded.tensors;
  };
  const std::vector<NamedTensor> tensors = load(weights_file, state.weights);
  const std::vector<NamedTensor> memory = load(memory_file, state.optimizer);
  check_parameters(parameters, tensors, weights_file.string());
  optimizer.check_state(memory);
  for (const NamedTensor& t : memory) {
    if (t.name != "steps") continue;
    const std::vector<std::int32_t> steps = t.tensor.to_vector<std::int32_t>();
    const std::int64_t made = steps.empty() ? state.step : *std::max_element(steps.begin(), steps.end());
    check(made == state.step, "resume", "{}: it has made {} steps, state.json says {}", memory_file.string(),
          made, state.step);
  }
  const auto fits = [](const std::string& a, const std::string& b) {
    return a.empty() || b.empty() || a == b;
  };
  check(fits(state.settings, own.settings), "resume", "{}: the run was made with other settings",
        path_.string());
  check(fits(state.tokenizer, own.tokenizer), "resume", "{}: the run was made with another vocabulary",
        path_.string());
  load_parameters(parameters, tensors, weights_file.string());
  optimizer.load_state(memory);
  return state;
}

void ModelFolder::check_state(const TrainState& state, const TrainConfig& config,
                              const CharTokenizer& tokenizer) const {
  check_vocabulary(path_, config, tokenizer);
  check(state.settings.empty() || state.settings == settings_checksum(config), "resume",
        "{}: these are not the settings that the run was made with", this->config().string());
  check(config.text_fingerprint.empty() || config.text_fingerprint == state.text_fingerprint, "resume",
        "{}: it names another text than the one that the run was made with", this->config().string());
  check(state.tokenizer.empty() || state.tokenizer == checksum(tokenizer.to_json()), "resume",
        "{}: this is not the vocabulary that the run was made with", this->tokenizer().string());
}

bool ModelFolder::check_best(const TrainState& state) const {
  if (!is_there(weights())) return !state.best_loss;
  const Metadata metadata = load_tensor_file(weights()).metadata;
  const auto found = metadata.find("minigpt.step");
  constexpr const char* kAdvice = "put the right file back, or remove it to go on without";
  // Older weights and states say nothing of each other; newer ones do.
  if (state.best.empty() && state.best_loss) return true;
  if (found == metadata.end()) {
    check(state.best.empty(), "resume", "{}: these are not the weights of step {} that the run saved; {}",
          weights().string(), state.best_step, kAdvice);
    return true;
  }
  try {
    check_origin(metadata, weights(), state.settings, state.tokenizer, state.text_fingerprint);
  } catch (const Error& e) {
    fail("resume", "{}: the weights in it are of another run; {}", weights().string(), kAdvice);
  }
  const std::int64_t step = std::strtoll(found->second.c_str(), nullptr, 10);
  if (step >= state.step && step != state.best_step) return true;  // saved after the state, before a crash
  check(step == state.best_step && state.best_loss, "resume",
        "{}: the weights are of step {}, the best ones of this run {}; {}", weights().string(), step,
        state.best_loss ? fmt::format("of step {}", state.best_step) : "do not exist yet", kAdvice);
  check(metadata.at("minigpt.checksum") == state.best, "resume",
        "{}: these are not the weights of step {} that state.json was saved with; {}", weights().string(),
        step, kAdvice);
  return true;
}

LoadedModel load_model(const std::filesystem::path& folder, Generator& rng) {
  const ModelFolder files(folder);
  TrainConfig config = files.load_config();
  CharTokenizer tokenizer = files.load_tokenizer();
  check_vocabulary(folder, config, tokenizer);
  const fs::path file = is_there(files.weights()) ? files.weights() : files.last() / "model.safetensors";
  check(is_there(file), "model",
        "{}: there are no weights yet: its run ended before the first save, or has not come to it",
        folder.string());
  const TensorFile stored = load_tensor_file(file);
  LoadedModel loaded{config, std::move(tokenizer), std::make_unique<Gpt>(config.model, rng), {}};
  const std::vector<NamedParameter> parameters = loaded.model->parameters();
  check_parameters(parameters, stored.tensors, file.string());
  check_origin(stored.metadata, file, settings_checksum(config), checksum(loaded.tokenizer.to_json()),
               config.text_fingerprint);
  load_parameters(parameters, stored.tensors, file.string());
  if (file != files.weights())
    loaded.warnings.push_back(fmt::format(
        "{}: no model.safetensors, so these are the newest weights, not the best", folder.string()));
  if (const std::string bad = first_not_finite(parameters); !bad.empty())
    loaded.warnings.push_back(fmt::format("{}: {} holds values that are not finite", file.string(), bad));
  return loaded;
}

}  // namespace minigpt
