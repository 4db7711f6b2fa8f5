#include "nn/attention/cross_attention.h"

#include "autograd/ops.h"
#include "nn/optim/adam.h"
#include "tensor/generator.h"
#include "tensor/reduce.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr std::int64_t kWords = 6, kWritten = 4, kWidth = 16, kVocabulary = 20;

Tensor normal(const Shape& shape, Generator& rng) {
  Tensor x = Tensor::empty(shape);
  rng.normal(std::span<float>(x.mutable_data<float>(), static_cast<std::size_t>(x.numel())));
  return x;
}

}  // namespace

void cross_attention(Page& page) {
  page.heading({"Cross-attention: one text asks another", "交叉注意力：一段文本去问另一段文本"});
  page.say(
      {"A translator writes one sentence while reading another. For each word to be written it looks back "
       "at the source. In attention's terms: queries come from what is being written (the decoder), keys "
       "and values from what was read (the encoder). Nothing else changes. The two lengths need not "
       "agree.",
       "翻译的人一边读原文，一边写译文，每写一个词都回头看看原文。用注意力的话说：查询来自正在写的一方（"
       "解码器），键和值来自读过的一方（编码器），其他都不变。两边长度不必相同。"});
  Generator rng(page.seed_or(14));
  CrossAttention attention(kWidth, 1, rng);
  const Variable read(normal({2, kWords, kWidth}, rng)), written(normal({2, kWritten, kWidth}, rng));
  const Attention a = attention.forward(written, read);
  page.line("  written (queries)        {}   B, T, C", written.shape());
  page.line("  read (keys and values)   {}   B, S, C", read.shape());
  page.line("  weights                  {}   B, H, T, S", a.weights.shape());
  page.line("  result                   {}   B, T, C", a.out.shape());
  page.say(
      {"No causal mask: the source is complete before writing starts. The rows add up to 1 over the source:",
       "这里没有因果掩码：动笔之前，原文已经完整了。每一行在原文上的权重之和为 1："});
  page.matrix(Text{"weights of the first text", "第一条文本的权重"},
              select(select(a.weights.value(), 0, 0), 0, 0));

  page.heading({"Let it learn to look in the right place", "让它学会看对地方"});
  page.say(
      {"A task that only cross-attention can solve: read 6 words, write the last 4 of them backwards. A "
       "query knows nothing but its own position; a key knows its word and its position. So query t must "
       "learn to find position 7 - t, whatever word stands there, and the value must carry the word.",
       "一个只有靠交叉注意力才能完成的任务：读 6 个词，把后 4 个倒着写出来。查询只知道自己的位置，键知道"
       "自己的词和位置。所以第 t 个查询要学会找到相应的位置，不管那里是什么词；值则负责把词带回来。"});
  const Tensor vocabulary = normal({kVocabulary, kWidth}, rng);  // a vector for each of 20 words
  const Tensor positions = normal({kWords, kWidth}, rng) * 2.0;  // and for each of 6 positions
  const std::int64_t B = 32;
  const Variable queries(expand(slice(positions, 0, 0, kWritten), {B, kWritten, kWidth}).contiguous());
  std::vector<std::int32_t> ids(static_cast<std::size_t>(B * kWords));
  // A batch of texts: what is read (B, 6, 16), and what should be written (B, 4, 16).
  const auto new_batch = [&](Tensor& source, Tensor& wanted) {
    rng.randint(std::span<std::int32_t>(ids), 0, kVocabulary);
    const Tensor index = Tensor::from<std::int32_t>(std::span<const std::int32_t>(ids), {B * kWords});
    const Tensor words = reshape(index_select(vocabulary, 0, index), {B, kWords, kWidth});
    source = words + positions;
    std::vector<Tensor> backwards;
    for (std::int64_t t = 0; t < kWritten; ++t) backwards.push_back(select(words, 1, kWords - 1 - t));
    wanted = stack(backwards, 1);
  };
  Adam optimizer({{named_parameters(attention), 0.01, 0}});
  Tensor source, wanted;
  for (int step = 0; step <= 600; ++step) {
    new_batch(source, wanted);
    const Variable error = attention.forward(queries, Variable(source)).out - Variable(wanted);
    const Variable loss = mean(error * error);
    if (step % 100 == 0)
      page.line("  step {:>3}: {} {:.4f}", step, page.chinese() ? "均方误差" : "mean squared error",
                loss.item());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  new_batch(source, wanted);  // texts it has not seen
  const Attention learnt = attention.forward(queries, Variable(source));
  const Tensor weights = select(select(learnt.weights.value(), 0, 0), 0, 0);
  std::vector<std::string> rows, columns;
  for (int i = 1; i <= 4; ++i) rows.push_back(fmt::format("{} {}", page.pick({"write", "写"}), i));
  for (int i = 1; i <= 6; ++i) columns.push_back(fmt::format("{} {}", page.pick({"read", "读"}), i));
  page.heat_map(Text{"weights on a new text", "新文本上的权重"}, weights, rows, columns);
  page.say(
      {"Word 1 of the result looks at word 6 of the source, word 2 at word 5: attention has become an "
       "address. In a real translator the picture is less tidy, but of this kind: roughly diagonal, with "
       "swaps where word order differs.",
       "结果的第 1 个词看原文的第 6 个，第 2 个看第 5 个：注意力变成了“地址”。真正的翻译模型没有这么整齐，"
       "但也是这样的图：大致沿对角线，语序不同的地方有交换。"});

  page.exercise({"Which word of the source does word 3 of the result look at most?",
                 "结果的第 3 个词最看原文的第几个词？"},
                {"word 4", "第 4 个"}, 4, argmax(select(weights, 0, 2)).item() + 1);
  page.exercise({"Translating 10 words into 14, with 8 heads: how many weights does one layer compute?",
                 "把 10 个词译成 14 个词，8 个头，一层要算多少个权重？"},
                {"8 x 14 x 10 = 1120", "8 x 14 x 10 = 1120"}, 1120, [&] {
                  CrossAttention wide(kWidth, 8, rng);
                  const Variable x(zeros({1, 14, kWidth})), y(zeros({1, 10, kWidth}));
                  return static_cast<double>(wide.forward(x, y).weights.numel());
                }());
}

}  // namespace minigpt::lessons
