#include "models/model_folder.h"

#include <algorithm>

#include "nn/files.h"
#include "nn/tensor_file.h"
#include "tensor/reduce.h"

namespace minigpt {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
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

}  // namespace

bool ModelFolder::has_last() const { return is_there(last() / "state.json"); }

bool ModelFolder::has_model() const { return is_there(config()) || is_there(weights()) || is_there(last()); }

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

void ModelFolder::save_best(const std::vector<NamedParameter>& parameters) const {
  save_tensors(weights(), parameter_tensors(parameters), tie_metadata(parameters));
}

void ModelFolder::save_last(const std::vector<NamedParameter>& parameters, const Optimizer& optimizer,
                            const TrainState& state) const {
  replace_directory(last(), [&](const fs::path& fresh) {
    save_tensors(fresh / "model.safetensors", parameter_tensors(parameters), tie_metadata(parameters));
    save_tensors(fresh / "optimizer.safetensors", optimizer.state());
    write_file_atomically(fresh / "state.json", to_json(state));
  });
}

TrainState ModelFolder::load_state() const {
  remove_leftovers(path_);
  check(has_last(), "resume", "{}: there is no saved state to resume from (no last/state.json)",
        path_.string());
  const fs::path state_file = last() / "state.json";
  return train_state_from_json(read_file(state_file), state_file.string());
}

TrainState ModelFolder::load_last(const std::vector<NamedParameter>& parameters, Optimizer& optimizer) const {
  TrainState state = load_state();
  const fs::path weights_file = last() / "model.safetensors";
  const std::vector<NamedTensor> tensors = load_tensors(weights_file);
  const std::vector<NamedTensor> memory = load_tensors(last() / "optimizer.safetensors");
  check_parameters(parameters, tensors, weights_file.string());
  optimizer.check_state(memory);
  load_parameters(parameters, tensors, weights_file.string());
  optimizer.load_state(memory);
  return state;
}

LoadedModel load_model(const std::filesystem::path& folder, Generator& rng) {
  const ModelFolder files(folder);
  TrainConfig config = files.load_config();
  CharTokenizer tokenizer = files.load_tokenizer();
  check(tokenizer.vocab_size() == config.model.vocab_size, "model",
        "{}: tokenizer.json has {} entries, config.json says vocab_size {}", folder.string(),
        tokenizer.vocab_size(), config.model.vocab_size);
  const fs::path file = is_there(files.weights()) ? files.weights() : files.last() / "model.safetensors";
  check(is_there(file), "model", "{}: there are no weights yet (no model.safetensors)", folder.string());
  LoadedModel loaded{config, std::move(tokenizer), std::make_unique<Gpt>(config.model, rng), {}};
  const std::vector<NamedParameter> parameters = loaded.model->parameters();
  load_parameters(parameters, load_tensors(file), file.string());
  if (file != files.weights())
    loaded.warnings.push_back(fmt::format(
        "{}: no model.safetensors, so these are the newest weights, not the best", folder.string()));
  if (const std::string bad = first_not_finite(parameters); !bad.empty())
    loaded.warnings.push_back(fmt::format("{}: {} holds values that are not finite", file.string(), bad));
  return loaded;
}

}  // namespace minigpt
