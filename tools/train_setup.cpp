#include "tools/train_setup.h"

#include <sys/sysinfo.h>

#include "models/text_file.h"
#include "models/utf8.h"
#include "nn/files.h"
#include "tools/builtin_text.h"
#include "tools/inputs.h"
#include "tools/outputs.h"

namespace minigpt::tools {
namespace {

// The value of every field that a resumed run keeps as text, for comparing configurations.
std::vector<std::pair<std::string, std::string>> values_of(TrainConfig config) {
  std::vector<std::pair<std::string, std::string>> list;
  list.emplace_back("vocab_size", fmt::format("{}", config.model.vocab_size));
  config.visit([&](const Field& field, auto& value) {
    if (field.fixed) list.emplace_back(field.name, fmt::format("{}", value));
  });
  return list;
}

TrainConfig resumed_config(const ModelFolder& folder, const TrainRequest& request,
                           const ConfigOptions& options, std::vector<std::string>& notes) {
  check(folder.has_last(), "resume", "{}: there is no saved state to resume from (no last/state.json); {}",
        folder.path().string(),
        folder.has_model() ? "begin anew with --overwrite" : "begin a run in it without --resume");
  check(request.preset.empty(), "resume", "leave out --preset: the settings are those in {}",
        folder.config().string());
  const TrainConfig saved = folder.load_config();
  TrainConfig wanted = saved;
  if (!request.config_file.empty()) apply_json(wanted, read_file(request.config_file), request.config_file);
  options.apply(wanted);
  const auto before = values_of(saved);
  const auto after = values_of(wanted);
  std::string conflicts;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].second != after[i].second)
      conflicts += fmt::format("{}{} is {}, not {}", conflicts.empty() ? "" : ", ", before[i].first,
                               before[i].second, after[i].second);
  check(conflicts.empty(), "resume", "a resumed run keeps the settings in {}: {}", folder.config().string(),
        conflicts);
  if (saved.lr_decay_steps != wanted.lr_decay_steps)
    notes.push_back(fmt::format("the learning rate now reaches its minimum at step {}, not {}",
                                wanted.lr_decay_steps, saved.lr_decay_steps));
  else if (wanted.steps > wanted.lr_decay_steps && saved.steps != wanted.steps &&
           saved.schedule != "constant")
    notes.push_back(fmt::format("the learning rate stays at its minimum after step {} (--lr-decay-steps)",
                                wanted.lr_decay_steps));
  return wanted;
}

// A fresh run may take the shape of its model from another one.
void take_model_from(const TrainRequest& request, const ConfigOptions& options, TrainSetup& setup) {
  Generator unused;
  LoadedModel source = load_model(request.init_from, unused);
  if (const std::string bad = first_not_finite(*source.model); !bad.empty())
    fail("init-from", "{}: {} holds values that are not finite: there is nothing to go on from",
         request.init_from, bad);
  GptConfig wanted = setup.config.model;
  wanted.vocab_size = source.config.model.vocab_size;
  source.config.model.visit([&](const Field& field, auto& value) {
    if (!options.given(field.name) || field.name == "dropout") return;
    wanted.visit([&](const Field& other, auto& own) {
      if constexpr (std::is_same_v<decltype(own), decltype(value)>)
        check(other.name != field.name || own == value, "init-from", "{} is {} in {}, not {}", field.name,
              value, request.init_from, own);
    });
  });
  const double dropout = options.given("dropout") ? wanted.dropout : source.config.model.dropout;
  setup.config.model = source.config.model;
  setup.config.model.dropout = dropout;
  setup.config.documents = source.config.documents;
  setup.notes.insert(setup.notes.end(), source.warnings.begin(), source.warnings.end());
  setup.tokenizer = std::move(source.tokenizer);
  setup.init_from = std::move(source.model);
}

// What the schedule itself would refuse, by the names of the options and with what to do about it.
void check_schedule(const TrainConfig& c) {
  if (c.schedule == "constant") return;
  check(c.min_lr <= c.learning_rate, "train", "--learning-rate {} is below --min-lr {}: lower that one too",
        c.learning_rate, c.min_lr);
  check(c.warmup_steps < c.lr_decay_steps, "train",
        "--warmup-steps {} leaves no step before --lr-decay-steps {}: lower it, or raise the other",
        c.warmup_steps, c.lr_decay_steps);
  check(c.schedule != "wsd" || c.decay_steps >= 1, "train",
        "--decay-steps {} leaves --schedule wsd no decline: raise it, or take --schedule constant",
        c.decay_steps);
  check(c.schedule != "wsd" || c.warmup_steps + c.decay_steps <= c.lr_decay_steps, "train",
        "--warmup-steps {} and --decay-steps {} do not fit into --lr-decay-steps {}", c.warmup_steps,
        c.decay_steps, c.lr_decay_steps);
}

// The schedule of a recipe does not follow --steps; whoever gave that alone should know.
void note_schedule(const ConfigOptions& options, TrainSetup& setup) {
  const TrainConfig& c = setup.config;
  if (!options.given("steps") || options.given("lr_decay_steps") || c.schedule == "constant") return;
  if (c.steps < c.lr_decay_steps)
    setup.notes.push_back(fmt::format(
        "the run ends at step {}, before the learning rate has come down to its minimum at step {} "
        "(--lr-decay-steps)",
        c.steps, c.lr_decay_steps));
  if (c.steps > c.lr_decay_steps)
    setup.notes.push_back(
        fmt::format("the learning rate stays at its minimum from step {} to {} (--lr-decay-steps)",
                    c.lr_decay_steps, c.steps));
}

// The least that one micro-batch of a step takes: token ids, and one tensor per block and position. Refused at once if the
// machine does not have it, since asking for it can keep a machine busy for minutes.
void check_memory(const TrainConfig& c) {
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return;
  const double present =
      (static_cast<double>(machine.totalram) + static_cast<double>(machine.totalswap)) * machine.mem_unit;
  const double positions = static_cast<double>(c.batch_size) * static_cast<double>(c.model.block_size);
  const double needed =
      positions * (16 + 4 * static_cast<double>(c.model.n_embd) * (static_cast<double>(c.model.n_layer) + 2));
  check(needed <= present || c.documents, "train",
        "--batch {} x --block {} needs at least {:.1f} GB in a step, this machine has {:.1f} GB; lower them "
        "(--micro-batches makes up for a smaller --batch)",
        c.batch_size, c.model.block_size, 1e-9 * needed, 1e-9 * present);
}

// Settings that were given, but that the others leave without effect.
void note_idle_options(const ConfigOptions& options, TrainSetup& setup) {
  const TrainConfig& c = setup.config;
  const auto idle = [&](std::initializer_list<const char*> fields, const std::string& why) {
    for (const char* field : fields)
      if (options.given(field))
        setup.notes.push_back(fmt::format("{} has no effect: {}", Field(field, "").option(), why));
  };
  if (c.schedule == "constant")
    idle({"min_lr", "warmup_steps", "lr_decay_steps"}, "the learning rate is constant (--schedule)");
  if (c.schedule != "wsd") idle({"decay_steps"}, "it belongs to --schedule wsd");
  if (c.optimizer != "muon") idle({"muon_momentum", "muon_scale"}, "it belongs to --optimizer muon");
  if (c.model.dropout == 0) idle({"torch_dropout"}, "there is no dropout (--dropout)");
  if (c.documents) idle({"eval_mode"}, "with --documents, the first documents are evaluated");
}

void load_data(const TrainRequest& request, TrainSetup& setup, const std::optional<TrainState>& state) {
  std::string path = request.data;
  if (state && path.empty()) path = state->data_path;
  if (path.empty()) {
    setup.text = utf8_decode(builtin_text(), "the built-in text").text;
    setup.data_name = "minigpt's own source code";
    return;
  }
  LoadedText loaded = load_text(path);
  setup.text = std::move(loaded.text);
  setup.data_path = std::filesystem::absolute(path).string();  // a run may be resumed from anywhere
  setup.data_name = path;
  setup.notes.insert(setup.notes.end(), loaded.notes.begin(), loaded.notes.end());
}

}  // namespace

std::string room_for(const ModelFolder& folder, const TrainRequest& request) {
  return check_room(folder, request.overwrite, {request.data, request.config_file});
}

void TrainSetup::clear_folder() const {
  remove_leftovers(folder.path());
  std::vector<std::filesystem::path> old;
  // Those two are replaced, so that the folder says at any moment what it is.
  for (const std::filesystem::path& file : folder.files())
    if (file != folder.config() && file != folder.tokenizer()) old.push_back(file);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(), ignored))
    for (const char* start :
         {"events.out.tfevents.", "metrics.jsonl.damaged", "metrics.csv.damaged", "watch.jsonl.damaged"})
      if (entry.path().filename().string().starts_with(start)) old.push_back(entry.path());
  for (const std::filesystem::path& path : old) std::filesystem::remove_all(path, ignored);
}

TrainSetup prepare(const TrainRequest& request, const ConfigOptions& options) {
  std::optional<TrainState> state;
  TrainSetup setup{{}, ModelFolder(request.out), {}, {}, {}, {}, {}, {}};
  check(!(request.resume && !request.init_from.empty()), "train",
        "--resume and --init-from exclude each other");
  check(!(request.resume && request.overwrite), "train", "--resume and --overwrite exclude each other");
  std::int64_t config_vocabulary = 0;
  if (request.resume) {
    remove_leftovers(setup.folder.path());
    setup.config = resumed_config(setup.folder, request, options, setup.notes);
    state = setup.folder.load_state();
    setup.tokenizer = setup.folder.load_tokenizer();
    setup.folder.check_state(*state, setup.config, *setup.tokenizer);
  } else {
    if (const std::string note = room_for(setup.folder, request); !note.empty()) setup.notes.push_back(note);
    setup.config = preset(request.preset.empty() ? "quick" : request.preset);
    setup.config.model.vocab_size = 0;  // the text's; anything else comes from the file
    if (!request.config_file.empty())
      apply_json(setup.config, read_file(request.config_file), request.config_file);
    config_vocabulary = setup.config.model.vocab_size;
    options.apply(setup.config);
    if (!request.init_from.empty()) take_model_from(request, options, setup);
    // A schedule of another length keeps the share of it that the recipe gives to the decline.
    const TrainConfig recipe = preset(request.preset.empty() ? "quick" : request.preset);
    if (options.given("lr_decay_steps") && !options.given("decay_steps") &&
        setup.config.decay_steps == recipe.decay_steps)
      setup.config.decay_steps = recipe.decay_steps * setup.config.lr_decay_steps / recipe.lr_decay_steps;
    // Documents differ in length, so they come one at a time.
    if (setup.config.documents && !options.given("batch_size")) setup.config.batch_size = 1;
    note_schedule(options, setup);
  }
  check_schedule(setup.config);
  note_idle_options(options, setup);
  setup.config.validate();
  load_data(request, setup, state);
  if (!setup.tokenizer) setup.tokenizer = CharTokenizer::from_text(setup.text, setup.config.documents);
  setup.config.model.vocab_size = setup.tokenizer->vocab_size();
  if (config_vocabulary > 0 && config_vocabulary != setup.config.model.vocab_size)
    setup.notes.push_back(fmt::format(
        "vocab_size {} in {} has no effect: the {} has {} characters", config_vocabulary, request.config_file,
        setup.init_from ? "vocabulary of --init-from" : "text", setup.config.model.vocab_size));
  setup.config.model.validate();
  check_memory(setup.config);
  return setup;
}

}  // namespace minigpt::tools
