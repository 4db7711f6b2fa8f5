#include "tools/lessons/small_gpt.h"

#include <algorithm>
#include <cmath>

#include "models/evaluate.h"
#include "models/model_folder.h"
#include "models/plural.h"
#include "models/train_data.h"
#include "models/trainer.h"
#include "models/utf8.h"
#include "tools/bench/clock.h"

namespace minigpt::lessons {
namespace {

constexpr std::size_t kMostHeldOut = 8192;  // characters: enough to tell losses apart, quick to score

// A line now and then.
class ProgressLines : public TrainListener {
 public:
  ProgressLines(Page& page, std::int64_t steps) : page_(page), steps_(steps) {}
  void on_step(const StepReport& report) override {
    const std::int64_t done = report.step + 1;
    if (done % std::max<std::int64_t>(1, steps_ / 4) == 0)
      page_.line("  step {:>5} of {}: loss {:.3f}", done, steps_, report.loss);
  }

 private:
  Page& page_;
  std::int64_t steps_;
};

TrainConfig config_of(const Page& page, const SmallGptShape& shape) {
  TrainConfig c = preset("quick");
  c.model.n_layer = shape.n_layer;
  c.model.n_head = shape.n_head;
  c.model.n_embd = shape.n_embd;
  c.model.block_size = shape.block_size;
  // Positions that are added at the bottom, and scores without a limit: heads become sharper, and easier to read, than those of
  // the preset, whose normalised queries and keys keep every score of such narrow heads below sqrt(D) = 4.
  c.model.positions = "learned";
  c.model.qk_norm = false;
  c.batch_size = shape.batch_size;
  c.steps = page.quick() ? 2 : shape.steps;
  c.lr_decay_steps = c.steps;
  c.decay_steps = c.steps * 6 / 10;
  c.warmup_steps = std::min(c.warmup_steps, c.steps / 4);
  c.seed = static_cast<std::int64_t>(page.seed_or(1337) % 9007199254740992ULL);
  // The lesson scores the model itself; the trainer's own evaluations stay short.
  c.eval_every = c.steps;
  c.eval_batches = 1;
  return c;
}

void score(SmallGpt& gpt) { gpt.loss = score_text(*gpt.model, gpt.held_out).loss(); }

}  // namespace

SmallGpt train_small_gpt(Page& page, const SmallGptShape& shape) {
  const std::u32string text = utf8_decode(page.text(), "the lesson's text").text;
  const TrainConfig config = config_of(page, shape);
  const CharTokenizer tokenizer = CharTokenizer::from_text(text);
  const TrainData data(config, tokenizer, text, "the lesson's text");
  check(static_cast<std::int64_t>(data.tokens(Split::kValidation).size()) > shape.block_size, "lesson",
        "a tenth of the text is {}; needs {}: --text FILE chooses another one",
        count_of(data.tokens(Split::kValidation).size(), "character"), shape.block_size + 1);
  page.release();
  TrainConfig sized = config;
  sized.model.vocab_size = tokenizer.vocab_size();
  Trainer trainer(sized, tokenizer, data);
  ProgressLines progress(page, config.steps);
  const double start = tools::now();
  trainer.run(nullptr, progress);
  const double seconds = tools::now() - start;

  const std::span<const std::int32_t> rest = data.tokens(Split::kValidation);
  SmallGpt gpt{tokenizer, std::make_unique<Gpt>(trainer.model()), {rest.begin(), rest.end()}, 0, seconds};
  gpt.held_out.resize(std::min(gpt.held_out.size(), kMostHeldOut));
  score(gpt);
  return gpt;
}

SmallGpt small_gpt(Page& page, const SmallGptShape& shape) {
  if (page.model().empty()) {
    page.say({"A small GPT ({} layers of {} heads, {} channels) learns from the text now; --model DIR looks "
              "into yours instead.",
              "现在用这段文字训练一个小 GPT（{} 层，每层 {} 个头，{} 个通道）；加上 --model "
              "目录，就改看你自己的模型。"},
             shape.n_layer, shape.n_head, shape.n_embd);
    SmallGpt gpt = train_small_gpt(page, shape);
    page.say({"Trained in {:.0f} seconds. On text it has not seen: {:.3f} nats per character.",
              "训练用了 {:.0f} 秒。在没见过的文字上，损失是每个字符 {:.3f} 纳特。"},
             gpt.seconds, gpt.loss);
    return gpt;
  }
  Generator unused;
  LoadedModel loaded = load_model(page.model(), unused);
  SmallGpt gpt{loaded.tokenizer, std::move(loaded.model), {}, 0, 0};
  const std::u32string text = utf8_decode(page.text(), "the lesson's text").text;
  for (std::size_t i = text.size() * 9 / 10; i < text.size() && gpt.held_out.size() < kMostHeldOut; ++i)
    if (gpt.tokenizer.contains(text[i]))
      gpt.held_out.push_back(gpt.tokenizer.encode(std::u32string_view(&text[i], 1))[0]);
  check(static_cast<std::int64_t>(gpt.held_out.size()) > gpt.model->config.block_size, "lesson",
        "the model knows {} of the last tenth of the text, and needs {}: --text FILE chooses another one",
        count_of(gpt.held_out.size(), "character"), gpt.model->config.block_size + 1);
  score(gpt);
  if (!std::isfinite(gpt.loss))
    throw Error(fmt::format("[lesson] {}: the loss is not finite: the model holds values that are not finite",
                            page.model()));
  page.release();
  page.say(
      {"The model in {} has {} layers of {} heads. On the last tenth of the text: {:.3f} nats per character.",
       "{} 里的模型有 {} 层，每层 {} 个头。在文字的最后十分之一上，损失是每个字符 {:.3f} 纳特。"},
      page.model(), gpt.model->config.n_layer, gpt.model->config.n_head, gpt.loss);
  return gpt;
}

std::vector<std::int32_t> passage(const SmallGpt& gpt, std::int64_t count) {
  const auto n = static_cast<std::size_t>(std::min(count, gpt.model->config.block_size));
  // Where a line begins; better still a comment, which has words in it.
  const std::u32string marks[] = {U"\n// ", U"\n"};
  std::size_t start = 0;
  for (const std::u32string& mark : marks) {
    if (start > 0 ||
        !std::all_of(mark.begin(), mark.end(), [&](char32_t c) { return gpt.tokenizer.contains(c); }))
      continue;
    const std::vector<std::int32_t> wanted = gpt.tokenizer.encode(mark);
    const auto found = std::search(gpt.held_out.begin(), gpt.held_out.end(), wanted.begin(), wanted.end());
    const auto after = static_cast<std::size_t>(found - gpt.held_out.begin()) + 1;
    if (after + n <= gpt.held_out.size()) start = after;
  }
  const auto first = gpt.held_out.begin() + static_cast<std::ptrdiff_t>(start);
  return {first, first + static_cast<std::ptrdiff_t>(std::min(n, gpt.held_out.size() - start))};
}

std::vector<std::string> labels_of(const SmallGpt& gpt, const std::vector<std::int32_t>& tokens) {
  std::vector<std::string> labels;
  for (const std::int32_t id : tokens) labels.push_back(gpt.tokenizer.decode(id));
  return labels;
}

}  // namespace minigpt::lessons
