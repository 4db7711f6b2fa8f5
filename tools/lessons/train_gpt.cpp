#include <algorithm>
#include <cmath>

#include "models/evaluate.h"
#include "models/ngram.h"
#include "models/sampler.h"
#include "models/train_data.h"
#include "models/train_optimizer.h"
#include "models/utf8.h"
#include "tools/bench/clock.h"
#include "tools/figures/line_plot.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// Pieces of a text from all over it, joined: quick to score, and not the text of one place only.
std::vector<std::int32_t> pieces_of(std::span<const std::int32_t> text) {
  constexpr std::size_t kPieces = 12, kLength = 500;
  if (text.size() <= kPieces * kLength) return {text.begin(), text.end()};
  std::vector<std::int32_t> joined;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const auto piece = text.subspan(i * (text.size() - kLength) / (kPieces - 1), kLength);
    joined.insert(joined.end(), piece.begin(), piece.end());
  }
  return joined;
}

// A GPT for 64 characters of context, and the recipe of `minigpt train` in short.
TrainConfig recipe(bool quick) {
  TrainConfig c = preset("quick");
  c.model.block_size = quick ? 16 : 64;
  c.model.n_layer = quick ? 1 : 3;
  c.model.n_head = quick ? 2 : 4;
  c.model.n_embd = quick ? 16 : 96;
  c.batch_size = quick ? 4 : 16;
  c.steps = quick ? 24 : 480;
  c.warmup_steps = c.steps / 60;
  c.lr_decay_steps = c.steps;
  c.decay_steps = c.steps * 6 / 10;
  return c;
}

// The longest context by which counting does no better than this loss: n of the n-gram model that is beaten.
std::string beaten(const NgramLadder& ladder, double loss) {
  int order = 0;
  for (const NgramLadder::Row& row : ladder.rows)
    if (loss < row.witten_bell_loss) order = std::max(order, row.order);
  return order == 0 ? "-" : fmt::format("{}-gram", order);
}

// Parameters of a GPT of this many blocks.
std::int64_t size_of(TrainConfig c, std::int64_t blocks) {
  Generator unused(0);
  c.model.n_layer = blocks;
  return parameter_count(Gpt(c.model, unused).parameters());
}

}  // namespace

void train_gpt(Page& page) {
  page.heading({"Training a GPT", "训练一个 GPT"});
  page.say(
      {"All parts are there now: blocks of causal attention and feed-forward layers, between a table that "
       "turns characters "
       "into vectors and a matrix that turns vectors into a score for every character. What is left is to "
       "train it: "
       "predict the next character of a text, everywhere at once.",
       "零件都齐了：一层层因果注意力和前馈层，前面有一张把字符变成向量的表，后面有一个把向量变成每个字符得分"
       "的矩阵。"
       "剩下的就是训练：在文字的每一处，同时预测下一个字符。"});
  page.heading({"1. The text", "第一步：文字"});
  const std::u32string text = utf8_decode(page.text(), "the lesson's text").text;
  const CharTokenizer tokenizer = CharTokenizer::from_text(text);
  TrainConfig config = recipe(page.quick());
  config.model.vocab_size = tokenizer.vocab_size();
  const TrainData data(config, tokenizer, text, "the lesson's text");
  check(data.has_validation(), "lesson", "{}", data.validation_note());
  const std::vector<std::int32_t> held_out = pieces_of(data.tokens(Split::kValidation));
  page.release();
  page.say({"{} characters, {} different ones. Unless you chose another one with --text FILE, it is the "
            "source code of this "
            "program. Nine tenths are for training; what counts is the loss on the rest, which the model "
            "never learns from.",
            "共 {} 个字符，其中不同的有 {} 个。如果你没有用 --text "
            "文件名另选，用的就是本程序自己的源代码。十分之九用来训练；"
            "真正算数的是剩下那部分上的损失，模型从不在上面学习。"},
           text.size(), tokenizer.vocab_size());

  page.heading({"2. The ladder of counting", "第二步：数数的梯子"});
  page.say(
      {"How good is a loss? Compare it with counting: an n-gram model looks up the last n - 1 characters in "
       "a table and "
       "says what followed them in the training text (smoothed by Witten and Bell's rule). In nats per "
       "character, on "
       "the held-out text:",
       "损失多少才算好？可以和“数数”比：n-gram 模型拿最后 n - 1 "
       "个字符去查表，看训练文字里它们后面跟过什么（用 Witten-Bell "
       "方法平滑）。在没训练过的文字上，每个字符的损失（纳特）："});
  const NgramLadder ladder = ngram_ladder(data.tokens(Split::kTrain), held_out, tokenizer.vocab_size(), 6);
  page.line("  {:<8} {:.4f}   ln {}", page.chinese() ? "瞎猜" : "guess", ladder.uniform,
            tokenizer.vocab_size());
  for (const NgramLadder::Row& row : ladder.rows)
    page.line("  {:<8} {:.4f}", fmt::format("{}-gram", row.order), row.witten_bell_loss);

  page.heading({"3. The loop", "第三步：训练循环"});
  Generator rng(page.seed_or(1337));
  Gpt model(config.model, rng);
  page.say({"{} blocks, {} heads, {} channels: {} parameters. A step: draw {} windows of {} characters, "
            "compute the loss, "
            "go backward, move the weights (Muon and AdamW, as in `minigpt train`).",
            "{} 个块，{} 个头，{} 个通道，共 {} 个参数。每一步：随机取 {} 段、每段 {} "
            "个字符，算损失，反向传播，挪动权重"
            "（和 minigpt train 一样，用 Muon 和 AdamW）。"},
           config.model.n_layer, config.model.n_head, config.model.n_embd,
           parameter_count(model.parameters()), config.batch_size, config.model.block_size);
  page.line({"    step   loss on the batch   on held-out text   better than",
             "    步数         批次上的损失     没训练过的文字       好于"});
  const std::vector<NamedParameter> parameters = model.parameters();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, parameters);
  const Schedule schedule = config.learning_rate_schedule();
  figures::Series curve{page.pick({"the GPT, held-out text", "GPT，没训练过的文字"}), {}, {}};
  const double start = tools::now();
  for (std::int64_t step = 0; step < config.steps; ++step) {
    const TokenBatch batch = data.train_batch(step, rng);
    const Variable loss = model.loss(batch.inputs, batch.targets);
    optimizer->zero_grad();
    loss.backward();
    optimizer->set_learning_rate(schedule.at(step));
    optimizer->step(clip_factor(grad_norm(parameters), config.grad_clip));
    const std::int64_t done = step + 1;
    // Often at first, when much happens.
    if (done % (config.steps / 6) == 0 || (done < config.steps / 6 && done % (config.steps / 20) == 0)) {
      curve.x.push_back(static_cast<double>(done));
      curve.y.push_back(score_text(model, held_out).loss());
      page.line("  {:>6}   {:>17.4f}   {:>16.4f}   {:>11}", done, loss.item(), curve.y.back(),
                beaten(ladder, curve.y.back()));
    }
  }
  page.say(
      {"{:.0f} seconds. First it finds how common each character is, then pairs, then words. A table of "
       "n-grams must "
       "have seen a context to know it; the model can be right about lines it has never seen, and its "
       "context is {} "
       "characters, not {}.",
       "用时 {:.0f} 秒。它先学会每个字符有多常见，再学会相邻的一对，然后是单词。n-gram 的表只认得见过的上文；"
       "模型对从没见过的行也可能猜对，而且它的上文有 {} 个字符，不是 {} 个。"},
      tools::now() - start, config.model.block_size, ladder.rows.back().order - 1);
  std::vector<figures::Series> series = {curve};
  for (const NgramLadder::Row& row : ladder.rows)
    series.push_back({fmt::format("{}-gram", row.order),
                      {curve.x.front(), curve.x.back()},
                      {row.witten_bell_loss, row.witten_bell_loss},
                      false,
                      true});
  page.figure("train-gpt",
              figures::line_plot_svg({page.pick({"Learning against counting", "学习与数数"}),
                                      page.pick({"step", "步数"}),
                                      page.pick({"loss, nats per character", "损失，每个字符的纳特数"}),
                                      figures::Scale::log10, figures::Scale::linear, series}));

  page.heading({"4. What it writes", "第四步：它写出来的文字"});
  page.say(
      {"One character at a time, drawn from the model's probabilities (temperature 0.8), each appended to "
       "what the "
       "model reads next:",
       "一次写一个字符，按模型给的概率抽取（温度 0.8），写出的字符接在后面，作为下一次的输入："});
  std::vector<std::int32_t> written;
  generate(model, std::vector<std::int32_t>{tokenizer.start_id()}, page.quick() ? 20 : 400, SampleOptions{},
           rng, [&](std::int32_t id) { return written.push_back(id), true; });
  std::string line;
  for (const std::int32_t id : written)
    if (const std::string c = tokenizer.decode(id); c == "\n") {
      page.line("  | {}", line);
      line.clear();
    } else {
      line += c;
    }
  page.line("  | {}", line);
  page.say(
      {"It is nonsense that looks right: half a minute teaches shapes, not meaning. More: `minigpt train "
       "--data FILE` "
       "(a model of 0.8 M parameters, two to three minutes), then `minigpt sample`.",
       "看起来像样，其实不通：半分钟只够学会形状，学不会意思。想要更好的：minigpt train --data "
       "文件名（80 万参数，两三分钟），再用 minigpt sample 让它写。"});

  page.exercise(
      {"How many bits per character is a loss of 1.5 nats?", "1.5 纳特的损失，是每个字符多少比特？"},
      {"1.5 / ln 2 = 2.1640", "1.5 / ln 2 = 2.1640"}, 2.1640, 1.5 / std::log(2.0));
  page.exercise({"Among how many equally likely characters is a model with that loss choosing, as it were?",
                 "损失为 1.5 的模型，相当于在几个可能性相等的字符里挑？"},
                {"e^1.5 = 4.4817: its perplexity", "e^1.5 = 4.4817：这叫困惑度"}, 4.4817, std::exp(1.5));
  TrainConfig wide = config;
  wide.model.n_embd = 96;
  page.exercise(
      {"How many parameters does one more block of 96 channels cost? (Attention 4 C^2, feed-forward 8 C^2; "
       "this model has no biases.)",
       "再加一个 96 通道的块，要多少参数？（注意力 4 C^2，前馈 8 C^2；这个模型没有偏置。）"},
      {"12 * 96^2 = 110592", "12 * 96^2 = 110592"}, 110592,
      static_cast<double>(size_of(wide, 2) - size_of(wide, 1)));
}

}  // namespace minigpt::lessons
