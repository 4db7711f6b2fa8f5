// A model folder with damaged, exchanged or missing files, loaded as `sample`, `info` and `train --resume` do.
//
// The input is a list of changes to a valid folder, separated by the byte 0x1E. After a '!' at the start it is a folder with
// checksums, otherwise one as earlier versions wrote it, where a change gets further. A change is a digit (which file), a letter
// (what to do) and what it needs:
//   0wTEXT   the content is TEXT          0x     the file is missing        0d    a directory is in its place
//   0rA=B    the first A becomes B        0t##   cut off at byte ##         0p##BYTES, 0i##BYTES   overwritten, inserted at byte ##
// where ## is a number of two bytes, little-endian, taken modulo the size.

#include <algorithm>
#include <fstream>

#include "models/metrics.h"
#include "models/run_logs.h"
#include "models/sampler.h"
#include "models/trainer.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/small_model.h"

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {
    "config.json",
    "tokenizer.json",
    "model.safetensors",
    "last/model.safetensors",
    "last/optimizer.safetensors",
    "last/state.json",
    "metrics.jsonl",
    "metrics.csv",
};

// The folder as it is on disk, and as it should be.
struct Desk {
  PrivateFolder place;
  fs::path folder = place.path() / "model";
  std::map<std::string, std::string> good;

  explicit Desk(bool sealed) {
    make_small_model(folder);
    if (!sealed) forget_checksums(folder);
    good = files_below(folder);
  }
  void put(const std::string& name, const std::string& content) const {
    std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  void restore(const std::string& name) const {
    std::error_code ignored;
    fs::remove_all(folder / name, ignored);
    put(name, good.at(name));
  }
};

// Applies one change to the files of the disk, and adds the names of those it touched.
class Changes {
 public:
  explicit Changes(const Desk& desk) : desk_(desk) {}
  ~Changes() {
    for (const auto& [name, content] : files_) desk_.restore(name);
    // Reading the history cuts off what does not belong to it.
    for (const char* name : {"metrics.jsonl", "metrics.csv"})
      if (!files_.contains(name)) desk_.restore(name);
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void apply(std::string_view change) {
    if (change.size() < 2) return;
    const std::string name = kNames[static_cast<unsigned char>(change[0]) % std::size(kNames)];
    const char what = change[1];
    change.remove_prefix(2);
    std::string& content = files_.emplace(name, desk_.good.at(name)).first->second;
    std::error_code ignored;
    if (what == 'x' || what == 'd') {
      fs::remove_all(desk_.folder / name, ignored);
      if (what == 'd') fs::create_directory(desk_.folder / name, ignored);
      return;
    }
    if (what == 'w') {
      content = change;
    } else if (what == 'r') {
      const std::size_t middle = change.find('=');
      const std::size_t at = middle == change.npos ? content.npos : content.find(change.substr(0, middle));
      if (at != content.npos) content.replace(at, middle, change.substr(middle + 1));
    } else if (change.size() >= 2) {
      const std::size_t at =
          (static_cast<unsigned char>(change[0]) + 256u * static_cast<unsigned char>(change[1])) %
          (content.size() + 1);
      change.remove_prefix(2);
      if (what == 't') content.resize(at);
      if (what == 'p') content.replace(at, std::min(change.size(), content.size() - at), change);
      if (what == 'i') content.insert(at, change);
    }
    if (fs::is_directory(desk_.folder / name, ignored)) fs::remove_all(desk_.folder / name, ignored);
    desk_.put(name, content);
  }

 private:
  const Desk& desk_;
  std::map<std::string, std::string> files_;
};

// Models and batches that a user may ask for, but that take longer than a thousandth of a second. A layer takes time however
// small it is.
bool is_large(const TrainConfig& c) {
  const auto channels = static_cast<double>(c.model.n_embd),
             symbols = static_cast<double>(c.model.vocab_size), layers = static_cast<double>(c.model.n_layer);
  const double tokens = static_cast<double>(c.batch_size) * static_cast<double>(c.model.block_size);
  const double weights = (12 * layers * channels + symbols) * channels;
  return layers > 4 || weights + tokens * (channels + symbols) > 2e4;
}

std::vector<float> values_of(const std::vector<NamedParameter>& parameters) {
  std::vector<float> values;
  for (const NamedParameter& p : parameters) {
    const std::vector<float> some = p.variable.value().to_vector<float>();
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

// As `minigpt sample` and `minigpt info`.
void load_and_sample(const fs::path& folder) {
  Generator rng(1);
  LoadedModel loaded = load_model(folder, rng);
  for (const std::string& warning : loaded.warnings) require_message(warning);
  require(loaded.tokenizer.vocab_size() == loaded.config.model.vocab_size, "a model fits its vocabulary");
  const std::int32_t start = loaded.tokenizer.start_id();
  generate(*loaded.model, std::span(&start, 1), 2, SampleOptions(), rng, [&](std::int32_t token) {
    loaded.tokenizer.decode(token);
    return true;
  });
}

// As `minigpt train --resume`.
void resume(const fs::path& path) {
  const ModelFolder folder(path);
  const TrainConfig config = folder.load_config();
  if (is_large(config)) return;
  const CharTokenizer tokenizer = folder.load_tokenizer();
  const std::u32string text = utf8_decode(kSmallText, "text").text;
  const TrainData data(config, tokenizer, text, "text");
  Trainer trainer(config, tokenizer, data);
  const std::vector<NamedParameter> parameters = trainer.model().parameters();
  const std::vector<float> before = values_of(parameters);
  if (!accepted([&] { trainer.resume(folder); })) {
    require(values_of(parameters) == before, "a state that is refused changes nothing");
    return;
  }
  folder.check_state(trainer.state(), config,
                     tokenizer);  // the command does so before: reading it twice takes time
  folder.check_best(trainer.state());
  for (const LogDamage& damage : damaged_logs(folder, trainer.state())) require_message(damage.text);
  TrainListener nobody;
  MetricsLog(folder.metrics(), trainer.state().step, nobody);
  const bool short_run = config.steps - trainer.state().step <= 3 && config.eval_batches <= 3 &&
                         config.micro_batches <= 3 && config.eval_every >= 1;
  if (short_run) trainer.run(nullptr, nobody);
}

}  // namespace

void fuzz_folder(Bytes input) {
  static const Desk old(false), sealed(true);
  std::string_view rest = text_of(input);
  const Desk& desk = rest.starts_with('!') ? sealed : old;
  if (&desk == &sealed) rest.remove_prefix(1);
  Changes changes(desk);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\x1E'), rest.size());
    changes.apply(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  bool large = false;
  if (!accepted([&] { large = is_large(ModelFolder(desk.folder).load_config()); })) {
    // Then nothing else may accept it.
    require(!accepted([&] { load_and_sample(desk.folder); }),
            "a bad config.json is refused by every command");
    return;
  }
  if (large) return;
  accepted([&] { load_and_sample(desk.folder); });
  accepted([&] { resume(desk.folder); });
}

}  // namespace minigpt::test
