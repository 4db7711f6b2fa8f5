#pragma once
// Everything that decides a training run. Together with the text and the seed it decides every bit of the result.

#include <string>
#include <vector>

#include "models/gpt_config.h"
#include "nn/optim/adam.h"
#include "nn/schedule.h"

namespace minigpt {

struct TrainConfig {
  GptConfig model;

  double train_fraction = 0.9;
  bool documents = false;
  std::int64_t steps = 2000;
  std::int64_t batch_size = 12;
  std::int64_t micro_batches = 1;
  double learning_rate = 1e-3;
  double min_lr = 1e-4;
  std::string schedule = "cosine";
  std::int64_t warmup_steps = 100;
  std::int64_t lr_decay_steps = 2000;
  std::int64_t decay_steps = 500;
  std::string optimizer = "adamw";
  double muon_momentum = 0.95;
  double muon_scale = 0.2;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double adam_eps = 1e-8;
  double weight_decay = 0.1;
  double grad_clip = 1.0;
  std::int64_t seed = 1337;
  std::int64_t eval_every = 250;
  std::int64_t eval_batches = 20;
  std::string eval_mode = "windows";
  std::int64_t save_every = 250;
  std::int64_t early_stop = 0;
  bool torch_dropout = false;
  std::string dtype = "f32";
  bool recompute = false;

  // Identifies the text that the run was started on (TrainData::fingerprint); "" if it was not noted. Not a setting.
  std::string text_fingerprint;

  // The settings of the run; those of the model come first.
  template <class V>
  void visit(V&& v) {
    model.visit(v);
    constexpr double kMany = 1e15;
    v(Field("train_fraction", "share of the text, from its start, to train on; the rest is for validation")
          .between(1e-6, 1),
      train_fraction);
    v(Field("documents", "treat each line as a text of its own, one a step (a list of names)"), documents);
    v(Field("steps", "optimiser updates in total, earlier ones of a resumed run included")
          .between(1, kMany)
          .may_change(),
      steps);
    v(Field("batch_size", "windows per forward pass").between(1, 65536).also("batch"), batch_size);
    v(Field("micro_batches", "forward passes whose gradients add up to one update").between(1, 65536),
      micro_batches);
    v(Field("learning_rate", "highest learning rate").in(above(0, 1e6)).also("lr"), learning_rate);
    v(Field("min_lr", "last learning rate").between(0, 1e6), min_lr);
    v(Field("schedule", "learning rate over time").one_of({"constant", "cosine", "wsd"}), schedule);
    v(Field("warmup_steps", "steps over which the rate rises").between(0, kMany), warmup_steps);
    v(Field("lr_decay_steps", "step at which the rate reaches min_lr; independent of --steps")
          .between(1, kMany)
          .may_change(),
      lr_decay_steps);
    v(Field("decay_steps", "wsd only: length of the final decline").between(0, kMany), decay_steps);
    v(Field("optimizer", "muon: orthogonalised steps for the matrices of the blocks, AdamW for the rest")
          .one_of({"adamw", "muon"})
          .added_later(),
      optimizer);
    v(Field("muon_momentum", "Muon: memory of the gradient's average").between(0, 0.999999).added_later(),
      muon_momentum);
    v(Field("muon_scale", "Muon: size of its steps, per unit of rate").between(1e-9, 1e3).added_later(),
      muon_scale);
    v(Field("beta1", "AdamW: memory of the gradient's average").between(0, 0.999999), beta1);
    v(Field("beta2", "AdamW: memory of the squared gradient's average").between(0, 0.999999), beta2);
    v(Field("adam_eps", "AdamW: added to the denominator").between(1e-30, 1), adam_eps);
    v(Field("weight_decay", "AdamW: shrinking of matrices, per unit of rate; vectors are left alone")
          .between(0, 1e3),
      weight_decay);
    v(Field("grad_clip", "largest gradient norm, 0 for no limit").between(0, 1e9), grad_clip);
    v(Field("seed", "start of the random stream").between(0, 9007199254740992.0), seed);
    v(Field("eval_every", "steps between evaluations").between(1, kMany), eval_every);
    v(Field("eval_batches", "batches per evaluation and part").between(1, 1e6), eval_batches);
    v(Field("eval_mode",
            "batches: drawn from the run's random stream, as nanoGPT; windows: always the same ones")
          .one_of({"batches", "windows"}),
      eval_mode);
    v(Field("save_every", "steps between saves of the state to resume from").between(1, kMany).may_change(),
      save_every);
    v(Field("early_stop", "stop after this many evaluations without a better loss, 0 for never")
          .between(0, 1e6)
          .may_change(),
      early_stop);
    v(Field("torch_dropout", "draw dropout masks from the random stream as PyTorch does"), torch_dropout);
    v(Field("dtype", "factors of matrix products; sums, weights and optimiser stay in f32")
          .one_of({"f32", "bf16"})
          .added_later(),
      dtype);
    v(Field("recompute",
            "keep one tensor per block for the backward pass and compute the rest again: less "
            "memory, a quarter more time")
          .added_later(),
      recompute);
  }

  // Throws Error unless the settings fit together.
  void validate() const;
  Schedule learning_rate_schedule() const;
  Precision matmul_precision() const { return dtype == "bf16" ? Precision::bf16 : Precision::full; }
  AdamOptions adam_options() const { return {beta1, beta2, adam_eps, true}; }
};

// "quick", "nanogpt-cpu", "nanogpt-baby", "names".
std::vector<std::string> preset_names();
// Throws Error that lists the names if there is none such.
TrainConfig preset(const std::string& name);
// One line about a preset.
std::string preset_help(const std::string& name);

// config.json: {"format": "minigpt-config", "version": 1, "vocab_size": V, every field by name, "text": the fingerprint,
// "checksum": that of everything before it}.
std::string to_json(const TrainConfig& config);
// Overwrites the fields that the JSON object names. Throws Error for unknown names (with the nearest known one), wrong
// types and values out of range; `source` is the file's name for the message. Without `complete`, fields may be left out,
// and what identifies a folder (text, checksum) is passed over. Otherwise a checksum must be right; a file without one
// (an older one, or one that was edited on purpose) is taken as it is.
void apply_json(TrainConfig& config, std::string_view json, std::string_view source, bool complete = false);

// Checksum of all that must stay the same when a run goes on, the size of the vocabulary included.
std::string settings_checksum(const TrainConfig& config);

// The candidate closest to `name` by edit distance, "" if none is close.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace minigpt
