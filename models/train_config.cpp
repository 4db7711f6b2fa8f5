#include "models/train_config.h"

#include <cmath>

namespace minigpt {

void TrainConfig::validate() const {
  learning_rate_schedule().validate();
  check(dtype == "f32" || dtype == "bf16", "config", "dtype must be f32 or bf16, got {}", dtype);
  check(!recompute || !torch_dropout || model.dropout == 0, "config",
        "recompute cannot draw PyTorch's dropout masks a second time: leave out recompute or torch_dropout");
  check(!documents || batch_size == 1, "config",
        "documents are trained one a step: batch_size must be 1, got {}", batch_size);
}

Schedule TrainConfig::learning_rate_schedule() const {
  Schedule s;
  check(schedule == "constant" || schedule == "cosine" || schedule == "wsd", "config",
        "schedule must be constant, cosine or wsd, got {}", schedule);
  s.kind = schedule == "constant" ? Schedule::Kind::constant
                                  : (schedule == "wsd" ? Schedule::Kind::wsd : Schedule::Kind::cosine);
  s.learning_rate = learning_rate;
  s.min_lr = min_lr;
  s.warmup_iters = warmup_steps;
  s.lr_decay_iters = lr_decay_steps;
  s.decay_iters = decay_steps;
  return s;
}

namespace {

// nanoGPT's config/train_shakespeare_char.py with the overrides its README gives for a laptop CPU.
TrainConfig nanogpt_cpu() {
  TrainConfig c;
  c.steps = 2001;  // iterations 0 .. max_iters = 2000
  c.eval_mode = "batches";
  return c;
}

// The same file as it stands: the recipe of the README's GPU section.
TrainConfig nanogpt_baby() {
  TrainConfig c;
  c.model.block_size = 256;
  c.model.n_layer = 6;
  c.model.n_head = 6;
  c.model.n_embd = 384;
  c.model.dropout = 0.2;
  c.batch_size = 64;
  c.steps = 5001;
  c.lr_decay_steps = 5000;
  c.eval_batches = 200;
  c.eval_mode = "batches";
  return c;
}

// As much as two laptop cores can learn in some three minutes. What each part is worth: tools/bench/README.md.
TrainConfig quick() {
  TrainConfig c;
  c.model.block_size = 128;
  c.model.positions = "rotary";
  c.model.norm = "rms";
  c.model.norm_gain = false;
  c.model.qk_norm = true;
  c.model.activation = "relu_squared";
  c.model.tie_weights = false;
  c.model.zero_init = true;
  c.optimizer = "muon";
  c.batch_size = 16;
  c.steps = 1100;
  c.learning_rate = 0.01;
  c.min_lr = 0;
  c.schedule = "wsd";
  c.warmup_steps = 10;
  c.lr_decay_steps = 1100;
  c.decay_steps = 660;
  c.eval_batches = 10;
  return c;
}

// A list of names, one a step, with 4,192 parameters for 26 letters: the smallest GPT worth the name.
TrainConfig names() {
  TrainConfig c;
  c.model.block_size = 16;
  c.model.n_layer = 1;
  c.model.n_head = 4;
  c.model.n_embd = 16;
  c.model.norm = "rms";
  c.model.norm_gain = false;
  c.model.activation = "relu";
  c.model.tie_weights = false;
  c.model.init_std = 0.08;
  c.documents = true;
  c.batch_size = 1;
  c.steps = 1000;
  c.learning_rate = 0.01;
  c.min_lr = 0;
  c.schedule = "wsd";  // a straight line from the first step to the last
  c.warmup_steps = 0;
  c.lr_decay_steps = 1000;
  c.decay_steps = 1000;
  c.beta1 = 0.85;
  c.weight_decay = 0;
  c.grad_clip = 0;
  c.eval_every = 500;
  c.eval_batches = 200;
  c.save_every = 1000;
  return c;
}

struct Preset {
  const char* name;
  TrainConfig (*make)();
  const char* help;
};

constexpr Preset kPresets[] = {
    {"quick", quick, "0.8 M parameters, two to three minutes on two cores"},
    {"nanogpt-cpu", nanogpt_cpu, "nanoGPT's published CPU recipe, number for number"},
    {"nanogpt-baby", nanogpt_baby, "nanoGPT's 10.7 M parameter recipe; hours on a CPU"},
    {"names", names, "4,192 parameters, one line of the text a step"},
};

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.emplace_back(p.name);
  return names;
}

static const Preset& find_preset(const std::string& name) {
  for (const Preset& p : kPresets)
    if (name == p.name) return p;
  std::string known;
  for (const Preset& p : kPresets) known += std::string(known.empty() ? "" : ", ") + p.name;
  fail("preset", "there is no preset '{}'; there are: {}", name, known);
}

TrainConfig preset(const std::string& name) { return find_preset(name).make(); }
std::string preset_help(const std::string& name) { return find_preset(name).help; }

}  // namespace minigpt
