// minigpt train: from a text file to a model folder.

#include <fmt/core.h>

#include <cmath>

#include "models/evaluate.h"
#include "models/event_file.h"
#include "models/ngram.h"
#include "models/plural.h"
#include "models/run_logs.h"
#include "models/text_file.h"
#include "models/watch.h"
#include "nn/files.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tools/arguments.h"
#include "tools/bench/memory_use.h"
#include "tools/commands.h"
#include "tools/folder_lock.h"
#include "tools/interrupt.h"
#include "tools/messages.h"
#include "tools/progress.h"
#include "tools/train_setup.h"

namespace minigpt::tools {
namespace {

struct Options {
  ConfigOptions config;
  TrainRequest request;
  TextOption log_every, threads, watch;
  bool json = false, tensorboard = false, anomalies = false;
};

// Counting models on the same split: what a GPT has to beat.
NgramLadder ladder_of(const TrainData& data, std::int64_t vocab) {
  return ngram_ladder(data.tokens(Split::kTrain), data.tokens(Split::kValidation), vocab);
}

void print_ladder(const NgramLadder& ladder) {
  fmt::print("marks on the validation part, in nats per character (lower is better):\n");
  fmt::print("  guessing evenly {:.3f}", ladder.uniform);
  for (const NgramLadder::Row& row : ladder.rows)
    fmt::print("  {}-gram {:.3f}", row.order, std::min(row.additive_loss, row.witten_bell_loss));
  fmt::print("\n");
}

void print_start(const TrainSetup& setup, Trainer& trainer, const TrainData& data) {
  const TrainConfig& c = setup.config;
  fmt::print("text: {}, {} to train on, {} for validation, vocabulary {}\n", setup.data_name,
             count_of(data.tokens(Split::kTrain).size(), "character"), data.tokens(Split::kValidation).size(),
             setup.tokenizer->vocab_size());
  fmt::print("model: layers {}, heads {}, channels {}, context {}: {} parameters\n", c.model.n_layer,
             c.model.n_head, c.model.n_embd, c.model.block_size,
             parameter_count(trainer.model().parameters()));
  fmt::print(
      "run: step {} to {}, {} a step{}, seed {}, threads {}, {} kernels, into {}\n", trainer.state().step,
      c.steps, count_of(c.batch_size * c.micro_batches * c.model.block_size, "token"),
      c.documents ? " at most" : "", c.seed, num_threads(), kernel_set().name, setup.folder.path().string());
  std::fflush(stdout);
}

void print_end(const TrainSetup& setup, Trainer& trainer, const TrainData& data, const NgramLadder* ladder) {
  const TrainState& state = trainer.state();
  if (data.has_validation()) {
    const auto tokens = data.tokens(Split::kValidation);
    const TextScore score = setup.config.documents
                                ? score_documents(trainer.model(), tokens, setup.tokenizer->document_id())
                                : score_text(trainer.model(), tokens);
    fmt::print("whole validation part: {:.4f} nats per character", score.loss());
    if (ladder) fmt::print(" (best n-gram {:.4f})", ladder->best());
    fmt::print("\n");
  }
  if (state.best_loss)
    fmt::print("best evaluation: {:.4f} at step {}; its weights are what sample and eval use\n",
               *state.best_loss, state.best_step);
  fmt::print("peak memory: {:.0f} MB, of which tensors {:.0f} MB\n",
             1e-6 * static_cast<double>(peak_resident_bytes()),
             static_cast<double>(memory_stats().peak_bytes) / 1e6);
  fmt::print("model saved in {}\n", setup.folder.path().string());
  fmt::print("  minigpt sample --model {}\n", setup.folder.path().string());
}

// What else of the folder belongs to the state that a run goes on from: says what is lost, and what becomes of damaged logs.
std::vector<LogDamage> go_on(TrainSetup& setup, Trainer& trainer) {
  TrainState& state = trainer.state();
  const std::vector<LogDamage> damages = damaged_logs(setup.folder, state);
  if (!setup.folder.check_best(state)) {
    setup.notes.push_back(fmt::format(
        "{} is missing: the best weights, of step {}, are lost; the next evaluation counts as the best",
        setup.folder.weights().string(), state.best_step));
    state.best_loss.reset();
    state.best_step = 0;
  }
  for (const LogDamage& damage : damages) {
    std::string note = damage.text;
    if (damage.remedy != LogRemedy::none)
      note += fmt::format(
          "; it is kept as {}, and {}", damaged_copy(setup.folder, damage.name).filename().string(),
          damage.remedy == LogRemedy::drop_lines ? std::string("the lines that can be read go on")
                                                 : fmt::format("the log begins anew at step {}", state.step));
    setup.notes.push_back(note);
    state.logs.erase(damage.name);  // said once; logs that the run goes on with are entered again
  }
  return damages;
}

// Records of steps that are made again are dropped, also if nothing is added to them.
void cut_watch(const TrainSetup& setup, Trainer& trainer, bool watched) {
  if (watched || !std::filesystem::exists(setup.folder.watch())) return;
  AppendFile file(setup.folder.watch());
  keep_steps_before(file, trainer.state().step);
  trainer.state().logs["watch.jsonl"] = file.seal();
}

// A text that is too short, with what can be done about it here.
TrainData data_of(const TrainSetup& setup) {
  try {
    return TrainData(setup.config, *setup.tokenizer, setup.text, setup.data_name);
  } catch (const TextTooShort& e) {
    const bool enough = static_cast<std::int64_t>(setup.text.size()) > setup.config.model.block_size;
    throw Error(fmt::format("{}; use a longer text, a smaller block (--block-size){}", e.what(),
                            enough ? " or a larger training fraction (--train-fraction)" : ""));
  }
}

int run(const Options& o) {
  apply_threads(o.threads);
  const std::int64_t log_every = o.log_every.whole(), watch_every = o.watch.whole();
  FolderLock lock;
  if (o.request.resume) lock.take(o.request.out);
  TrainSetup setup = prepare(o.request, o.config);
  const TrainData data = data_of(setup);
  setup.text = {};  // it is tokens now
  work_begins();
  check_writable_directory(setup.folder.path());
  lock.take(setup.folder.path());
  // Another run may have ended here while this one read its text.
  if (!o.request.resume) room_for(setup.folder, o.request);

  Trainer trainer(setup.config, *setup.tokenizer, data);
  if (setup.init_from) trainer.start_from(*setup.init_from);
  std::vector<LogDamage> damages;
  if (o.request.resume) {
    trainer.resume(setup.folder);
    damages = go_on(setup, trainer);
    if (const std::string& before = trainer.state().kernel_set; before != kernel_set().name)
      setup.notes.push_back(
          fmt::format("the run was made with {} kernels and goes on with {}: results agree "
                      "within rounding, not bit for bit",
                      before, kernel_set().name));
  }
  trainer.state().data_path = setup.data_path;
  setup.config.model.vocab_size = setup.tokenizer->vocab_size();
  setup.config.text_fingerprint = data.fingerprint();

  if (o.log_every.given() && !o.json && default_style() == OutputStyle::live)
    setup.notes.push_back("--log-every has no effect on a terminal, where one line is drawn over");
  // Standard output holds nothing but objects with --json.
  const auto tell = [&](const std::string& line) {
    if (o.json)
      say("{}\n", line);
    else
      fmt::print("{}\n", line);
  };
  for (const std::string& note : setup.notes) tell("note: " + note);
  if (!data.has_validation()) tell("note: " + data.validation_note());
  const std::atomic<bool>& interrupted = watch_interrupts();  // from the first line on
  std::optional<NgramLadder> ladder;
  if (!o.json) {
    print_start(setup, trainer, data);
    if (data.has_validation()) {
      ladder = ladder_of(data, setup.tokenizer->vocab_size());
      print_ladder(*ladder);
    }
  }
  if (trainer.state().step >= setup.config.steps) {
    tell(fmt::format("nothing to do: {} made already; ask for more with --steps",
                     count_of(trainer.state().step, "step")));
    stop_watching_interrupts();
    return 0;
  }

  if (o.request.resume) {
    for (const LogDamage& damage : damages) mend_log(setup.folder, trainer.state(), damage);
    cut_logs(setup.folder, trainer.state());
    cut_watch(setup, trainer, watch_every > 0);
  } else {
    setup.clear_folder();
  }
  setup.folder.save_config(setup.config);
  setup.tokenizer->save(setup.folder.tokenizer());
  Progress progress(o.json ? OutputStyle::json : default_style(), setup.config.steps, log_every);
  std::optional<EventLog> events;
  if (o.tensorboard) events.emplace(setup.folder.path(), trainer.state().step, progress);
  MetricsLog metrics(setup.folder.metrics(), trainer.state().step,
                     events ? static_cast<TrainListener&>(*events) : progress);
  progress.set_watch(&metrics.watch());
  std::optional<Watch> watch;
  if (watch_every > 0)
    trainer.set_watcher(&watch.emplace(setup.folder.watch(), watch_every, trainer.state().step));
  trainer.detect_anomalies(o.anomalies);
  StopReason reason;
  try {
    reason = trainer.run(&setup.folder, metrics, &interrupted);
  } catch (...) {
    progress.finish();
    throw;
  }
  stop_watching_interrupts();
  progress.finish();
  if (reason == StopReason::interrupted) {
    tell(fmt::format("stopped at step {}, saved in {}; go on with --resume", trainer.state().step,
                     setup.folder.path().string()));
    return 130;
  }
  if (reason == StopReason::early_stop)
    tell("stopped early: no better loss in " + count_of(setup.config.early_stop, "evaluation"));
  if (!o.json) print_end(setup, trainer, data, ladder ? &*ladder : nullptr);
  return 0;
}

}  // namespace

Command add_train(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description("Trains a GPT on a text and writes a model folder.");
  app.add_option("--data", o->request.data, "UTF-8 text file; without it, minigpt's own source code")
      ->type_name("FILE");
  app.add_option("--out", o->request.out, "model folder to write")->type_name("DIR")->default_str("model");
  std::string presets = "recipe to start from:";
  for (const std::string& name : preset_names()) presets += "\n" + name + ": " + preset_help(name);
  app.add_option("--preset", o->request.preset, presets)->type_name("NAME")->default_str("quick");
  app.add_option("--config", o->request.config_file,
                 "JSON file with settings, by the names in config.json; options count more")
      ->type_name("FILE");
  app.add_option("--init-from", o->request.init_from,
                 "model folder whose weights to start from (fine-tuning)")
      ->type_name("DIR");
  app.add_flag("--resume", o->request.resume, "go on with the run in --out");
  app.add_flag("--overwrite", o->request.overwrite, "replace a model that is already in --out");
  app.add_flag("--json", o->json, "print one JSON object a line");
  add_number_option(app, o->log_every, "--log-every", "INT", "steps between lines (not on a terminal)", "10",
                    between(1, kCount));
  add_number_option(app, o->watch, "--watch", "INT",
                    "record gradients, weights and layers every so many steps in watch.jsonl; 0: never", "0",
                    between(0, kCount));
  app.add_flag("--tensorboard", o->tensorboard,
               "also write events.out.tfevents files, for tensorboard --logdir DIR");
  app.add_flag("--detect-anomaly", o->anomalies,
               "stop at the first value that is not finite, and tell where in the model it arose and from "
               "what (slower)");
  add_threads_option(app, o->threads);
  o->config.add_to(app, preset("quick"));
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
