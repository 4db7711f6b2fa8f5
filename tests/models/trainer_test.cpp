// What stops a run, what it keeps, and what it must not do. Resuming is in trainer_resume_test.cpp.

#include "models/trainer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "models/sampler.h"
#include "nn/tensor_file.h"
#include "tensor/parallel.h"
#include "tensor/recycling.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;
using test::tiny_run;
using test::TinyData;
using test::weights_of;

std::vector<float> trained(const TrainConfig& config, const TinyData& tiny) {
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder ignored;
  CHECK(trainer.run(nullptr, ignored) == StopReason::finished);
  return weights_of(trainer.model());
}

TEST_CASE("trainer: a run reports every step and every evaluation") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  CHECK(trainer.run(nullptr, seen) == StopReason::finished);
  REQUIRE(seen.steps.size() == 20);
  for (std::size_t i = 0; i < seen.steps.size(); ++i) {
    CHECK(seen.steps[i].step == static_cast<std::int64_t>(i));
    CHECK(seen.steps[i].learning_rate == config.learning_rate_schedule().at(static_cast<std::int64_t>(i)));
    CHECK(seen.steps[i].tokens == 3 * 8);
    CHECK(seen.steps[i].grad_norm > 0);
  }
  std::vector<std::int64_t> when;
  for (const EvalReport& e : seen.evaluations) when.push_back(e.step);
  CHECK(when == std::vector<std::int64_t>{0, 5, 10, 15, 20});
  CHECK(seen.evaluations[0].train_loss == doctest::Approx(std::log(8.0)).epsilon(0.05));
  CHECK(trainer.state().step == 20);
  CHECK(seen.saves.empty());  // no folder, nothing written
}

TEST_CASE("trainer: it learns: the text 'abcdefgh...' becomes predictable") {
  TrainConfig config = tiny_run();
  config.model.dropout = 0;
  config.steps = 150;
  config.lr_decay_steps = 150;
  config.learning_rate = 1e-2;
  config.eval_every = 1000;
  std::u32string text;
  for (int i = 0; i < 400; ++i) text += U"abcdefgh"[i % 8];
  const TinyData tiny(config, text);
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  trainer.run(nullptr, seen);
  CHECK(seen.steps.front().loss > 1.9);
  CHECK(seen.steps.back().loss < 0.3);
  CHECK(seen.evaluations.back().val_loss.value() < 0.3);
}

TEST_CASE("trainer: the number of threads changes no bit") {
  for (const bool torch_dropout : {false, true}) {
    TrainConfig config = tiny_run();
    config.torch_dropout = torch_dropout;
    config.steps = 6;
    const TinyData tiny(config);
    std::vector<float> expected;
    {
      const ScopedNumThreads one(1);
      expected = trained(config, tiny);
    }
    for (const int threads : {2, 7}) {
      const ScopedNumThreads many(threads);
      CHECK(trained(config, tiny) == expected);
      const ScopedForceGrainOne small_pieces;  // or nothing this small would be split at all
      CHECK(trained(config, tiny) == expected);
    }
  }
}

TEST_CASE("trainer: the seed decides everything, and each part of the recipe matters") {
  const TrainConfig config = tiny_run();
  const TinyData tiny(config);
  const std::vector<float> base = trained(config, tiny);
  CHECK(trained(config, tiny) == base);
  std::vector<TrainConfig> others(4, config);
  others[0].seed = 2;
  others[1].torch_dropout = true;
  others[2].weight_decay = 0;
  others[3].grad_clip = 0.1;
  for (const TrainConfig& other : others) CHECK(trained(other, tiny) != base);
}

TEST_CASE("trainer: micro-batches that add up are one big batch, within rounding") {
  TrainConfig big = tiny_run();
  big.model.dropout = 0;
  big.eval_mode = "windows";  // no draws between batches, so both runs read the same windows
  big.batch_size = 6;
  big.steps = 5;
  big.adam_eps = 1e-3;  // or Adam makes whole steps of the rounding noise in gradients near zero
  TrainConfig small = big;
  small.batch_size = 2;
  small.micro_batches = 3;
  const TinyData tiny_big(big), tiny_small(small);
  Trainer a(big, tiny_big.tokenizer, tiny_big.data), b(small, tiny_small.tokenizer, tiny_small.data);
  Recorder seen_a, seen_b;
  a.run(nullptr, seen_a);
  b.run(nullptr, seen_b);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(seen_a.steps[i].grad_norm == doctest::Approx(seen_b.steps[i].grad_norm).epsilon(1e-4));
    CHECK(seen_b.steps[i].tokens == seen_a.steps[i].tokens);
  }
  const std::vector<float> x = weights_of(a.model()), y = weights_of(b.model());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::abs(x[i] - y[i])));
  CHECK(worst < 1e-6);
}

TEST_CASE("trainer: evaluation leaves the training stream alone, unless it is to draw from it") {
  TrainConfig rare = tiny_run(), often = tiny_run();
  rare.eval_every = 1000;
  often.eval_every = 1;
  for (TrainConfig* c : {&rare, &often}) c->eval_mode = "windows";
  const TinyData tiny(rare);
  CHECK(trained(rare, tiny) == trained(often, tiny));
  for (TrainConfig* c : {&rare, &often}) c->eval_mode = "batches";
  CHECK(trained(rare, tiny) != trained(often, tiny));
}

// T-01. Each way in which a number can go bad, and what is left afterwards.
TEST_CASE("trainer: the first loss or gradient that is not finite stops the run before the update") {
  TrainConfig config = tiny_run();
  config.save_every = 1;
  config.eval_every = 1000;
  const TinyData tiny(config);
  const auto run = [&](Trainer& trainer, const ModelFolder& folder) -> std::string {
    Recorder seen;
    try {
      trainer.run(&folder, seen);
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  SUBCASE("a loss") {
    const TemporaryFolder temporary;
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    trainer.model().transformer.ln_f.layer.weight.mutable_value().fill_(kNan);
    const std::vector<float> wpe = trainer.model().transformer.wpe.weight.value().to_vector<float>();
    const std::string message = run(trainer, ModelFolder(temporary.path()));
    CHECK(message ==
          "[train] step 0: the loss is nan (transformer.ln_f.weight holds values that are not finite); the "
          "weights were not updated. try a lower --learning-rate");
    CHECK(trainer.model().transformer.wpe.weight.value().to_vector<float>() == wpe);
    CHECK(temporary.names().empty());  // nothing bad was saved
  }
  SUBCASE("a gradient") {
    const TemporaryFolder temporary;
    const ModelFolder folder(temporary.path());
    config.grad_clip = 0;
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    int passes = 0;
    trainer.model().transformer.h[0].mlp.c_fc.weight.on_grad([&](const Variable& g) {
      Tensor bad = g.value().clone();
      if (++passes == 3) bad.mutable_data<float>()[5] = kNan;
      return Variable(bad);
    });
    const std::string message = run(trainer, folder);
    CHECK(
        message ==
        "[train] step 2: the gradient of transformer.h.0.mlp.c_fc.weight is not finite; the weights were not "
        "updated. try a lower --learning-rate or --grad-clip 1");
    // The last good state is the one after two updates, and the weights in memory are still those.
    CHECK(folder.load_state().step == 2);
    for (const NamedTensor& t : load_tensors(folder.last() / "model.safetensors"))
      for (const NamedParameter& p : trainer.model().parameters())
        if (p.name == t.name) CHECK(p.variable.value().to_vector<float>() == t.tensor.to_vector<float>());
  }
  SUBCASE("a learning rate far too high") {
    config.learning_rate = 1e30;
    config.min_lr = 0;
    config.steps = 50;
    const TemporaryFolder temporary;
    Trainer trainer(config, tiny.tokenizer, tiny.data);
    const std::string message = run(trainer, ModelFolder(temporary.path()));
    CHECK(message.find("[train] step ") == 0);
    CHECK(message.find("were not updated") != std::string::npos);
  }
}

// T-07, and early stopping: a text without any order can only be learnt by heart.
TEST_CASE("trainer: the best weights stay when later ones are worse; last/ holds those") {
  TrainConfig config = tiny_run();
  config.model.dropout = 0;
  config.eval_mode = "windows";
  config.learning_rate = 1e-2;
  config.min_lr = 1e-2;
  config.eval_every = 10;
  config.eval_batches = 4;
  config.steps = 100;
  config.train_fraction = 0.5;
  const TinyData tiny(config, test::random_text(200));
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  trainer.run(&folder, seen);

  double lowest = INFINITY;
  std::int64_t when = -1;
  for (const EvalReport& e : seen.evaluations) {
    const bool better = e.step > 0 && *e.val_loss < lowest;
    CHECK(e.best == better);
    if (better) {
      lowest = *e.val_loss;
      when = e.step;
    }
  }
  REQUIRE(when < 80);  // it did overfit
  const TrainState state = folder.load_state();
  CHECK(state.best_loss == lowest);
  CHECK(state.best_step == when);
  CHECK(state.evaluations_since_best == 10 - when / 10 - 1);  // the evaluation at the end is not counted

  // model.safetensors gives that loss again.
  TrainConfig measure = config;
  measure.steps = 1;
  Trainer other(measure, tiny.tokenizer, tiny.data);
  load_parameters(other.model().parameters(), load_tensors(folder.weights()), "best");
  Recorder once;
  other.run(nullptr, once);
  CHECK(once.evaluations[0].val_loss.value() == lowest);

  // The best value survives a resume: worse weights do not replace the file.
  const auto best_file = load_tensors(folder.weights());
  TrainConfig longer = config;
  longer.steps = 120;
  Trainer resumed(longer, tiny.tokenizer, tiny.data);
  resumed.resume(folder);
  Recorder more;
  resumed.run(&folder, more);
  CHECK(resumed.state().best_step == when);
  CHECK(load_tensors(folder.weights())[0].tensor.to_vector<float>() ==
        best_file[0].tensor.to_vector<float>());
  CHECK(load_tensors(folder.last() / "model.safetensors")[0].tensor.to_vector<float>() !=
        best_file[0].tensor.to_vector<float>());

  config.early_stop = 2;
  Trainer early(config, tiny.tokenizer, tiny.data);
  Recorder shorter;
  const TemporaryFolder elsewhere;
  const ModelFolder target(elsewhere.path());
  CHECK(early.run(&target, shorter) == StopReason::early_stop);
  CHECK(early.state().step == early.state().best_step + 20);
  CHECK(target.load_state().step == early.state().step);
}

TEST_CASE("trainer: without a validation part the newest weights are the best, and no loss is invented") {
  TrainConfig config = tiny_run();
  config.train_fraction = 1;
  config.early_stop = 1;
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  CHECK(trainer.run(&folder, seen) == StopReason::finished);
  for (const EvalReport& e : seen.evaluations) CHECK_FALSE(e.val_loss.has_value());
  CHECK(folder.load_state().best_step == 20);
  CHECK(load_tensors(folder.weights())[0].tensor.to_vector<float>() ==
        trainer.model().transformer.wte.weight.value().to_vector<float>());
}

TEST_CASE("trainer: documents, one a step") {
  TrainConfig config = tiny_run();
  config.documents = true;
  config.batch_size = 1;
  config.train_fraction = 0.6;
  const TinyData tiny(config, U"ab\nabc\nbca\ncab\naabbcc\n");
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  Recorder seen;
  trainer.run(nullptr, seen);
  CHECK(seen.steps.size() == 20);
  std::set<std::int64_t> lengths;
  for (const StepReport& s : seen.steps) lengths.insert(s.tokens);
  CHECK(lengths.size() > 1);
  for (std::size_t i = 3; i < seen.steps.size(); ++i) CHECK(seen.steps[i].tokens == seen.steps[i - 3].tokens);
}

TEST_CASE("trainer: memory is flat, with evaluations, saves and sampling in between (A-06, P-06)") {
  TrainConfig config = tiny_run();
  config.steps = 60;
  config.save_every = 7;
  const TinyData tiny(config);
  const TemporaryFolder temporary;
  const ModelFolder folder(temporary.path());
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  struct Watch : TrainListener {
    Trainer* trainer = nullptr;
    std::vector<MemoryStats> after;
    void on_step(const StepReport& report) override {
      Generator rng(1);
      const std::vector<std::int32_t> prompt = {0};
      if (report.step % 9 == 0)
        generate(trainer->model(), prompt, 12, SampleOptions{}, rng, [](std::int32_t) { return true; });
      after.push_back(memory_stats());
    }
  } watch;
  watch.trainer = &trainer;
  trainer.run(&folder, watch);
  REQUIRE(watch.after.size() == 60);
  const MemoryStats &early = watch.after[19], &late = watch.after[59];
  CHECK(late.live_bytes == early.live_bytes);
  CHECK(late.peak_bytes == early.peak_bytes);
  if (kRecycle) CHECK(late.system_allocations == early.system_allocations);
}

}  // namespace
}  // namespace minigpt
