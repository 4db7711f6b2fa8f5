#include "tests/fuzz/small_model.h"

#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "models/metrics.h"
#include "models/text_file.h"
#include "models/trainer.h"
#include "models/utf8.h"
#include "nn/files.h"
#include "nn/safetensors.h"
#include "tensor/parallel.h"
#include "tests/fuzz/properties.h"

namespace minigpt::test {

namespace fs = std::filesystem;

const char* const kSmallText = "abba\nbaba\nabab\nbaab\naabb\nbbaa\nabba\nbaba\nabab\nbaab\n";

PrivateFolder::PrivateFolder() {
  std::string pattern = (fs::temp_directory_path() / "minigpt-fuzz-XXXXXX").string();
  require(::mkdtemp(pattern.data()) != nullptr, "a private folder can be made");
  path_ = pattern;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void make_small_model(const fs::path& path) {
  set_num_threads(1);
  TrainConfig config;
  config.model.block_size = 4;
  config.model.n_layer = 1;
  config.model.n_head = 2;
  config.model.n_embd = 4;
  config.model.bias = true;
  config.model.tie_weights = false;
  config.optimizer = "muon";
  config.batch_size = 2;
  config.steps = 2;
  config.eval_every = 1;
  config.eval_batches = 1;
  const std::u32string text = utf8_decode(kSmallText, "text").text;
  const CharTokenizer tokenizer = CharTokenizer::from_text(text);
  config.model.vocab_size = tokenizer.vocab_size();
  const TrainData data(config, tokenizer, text, "text");
  const ModelFolder folder(path);
  check_writable_directory(path);
  folder.save_config(config);
  tokenizer.save(folder.tokenizer());
  Trainer trainer(config, tokenizer, data);
  TrainListener nobody;
  MetricsLog log(folder.metrics(), 0, nobody);
  trainer.run(&folder, log);
  write_file_atomically(folder.watch(), std::string_view("{\"step\": 1}\n"));
}

void forget_checksums(const fs::path& path) {
  const auto edit = [](const fs::path& file, int version, std::initializer_list<const char*> names) {
    auto json = nlohmann::ordered_json::parse(minigpt::read_file(file, "fuzz"));
    json["version"] = version;
    for (const char* name : names) json.erase(name);
    write_file_atomically(file, json.dump(2));
  };
  const ModelFolder folder(path);
  edit(folder.config(), 1, {"checksum", "text"});
  edit(folder.last() / "state.json", 1, {"checksum", "settings", "tokenizer", "files", "logs", "log_starts"});
  for (const fs::path& file :
       {folder.weights(), folder.last() / "model.safetensors", folder.last() / "optimizer.safetensors"}) {
    const SafetensorsFile sealed = SafetensorsFile::open(file);
    SafetensorsWriter writer;
    for (const SafetensorsEntry& entry : sealed.entries()) {
      const auto bytes = sealed.bytes(entry);
      writer.add(entry.name, entry.dtype, entry.shape, {bytes.begin(), bytes.end()});
    }
    for (const auto& [key, value] : sealed.metadata())
      if (!key.starts_with("minigpt.")) writer.set_metadata(key, value);
    writer.write(file);
  }
}

std::map<std::string, std::string> files_below(const fs::path& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), path).string()] = minigpt::read_file(entry.path(), "fuzz");
  return files;
}

}  // namespace minigpt::test
