#include "autograd/ops.h"
#include "nn/attention/cross_attention.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void padding(Page& page) {
  page.heading({"Texts of unequal length", "长短不一的文本"});
  page.say(
      {"A batch is a box: every text must fill all T places. Short texts are filled up with padding, and "
       "the padding must not be seen. We take the first 6, 2 and 4 of our words, and fill up with a "
       "vector of nines, so that any leak will show.",
       "一批数据是个方盒子：每条文本都得占满 T 个位置。短的要填充，而填充的部分不能被看到。这里取前 6 个、"
       "2 个、4 个词，用全是 9 的向量来填，漏一点都看得出来。"});
  const std::vector<std::int64_t> lengths = {6, 2, 4};
  const std::int64_t B = 3, T = 6;
  Tensor filled = expand(example_words(), {B, T, 3}).clone();
  for (std::int64_t b = 0; b < B; ++b)
    slice(select(filled, 0, b), 0, lengths[static_cast<std::size_t>(b)], T).fill_(9);
  page.matrix(Text{"text 2", "第 2 条文本"}, select(filled, 0, 1));

  page.heading({"The mask", "掩码"});
  page.say(
      {"True where there is a real word. Its shape is (B, 1, 1, T): the scores are (B, heads, T queries, "
       "T keys), and what is hidden depends on the text and on the key, so those two axes are filled and "
       "the others are 1, which means: for all heads, for all queries.",
       "有真词的地方为真。形状是 (B, 1, 1, T)：分数的形状是 (B, 头, T 个查询, T 个键)，该不该遮只看是哪条"
       "文本、哪个键，所以这两个轴有内容，另外两个轴是 1，意思是“对所有头、所有查询都一样”。"});
  const Tensor mask = padding_mask(lengths, T);
  page.line("  mask {}", mask.shape());
  page.matrix(Text{"mask, as numbers", "掩码，写成数"}, reshape(mask.to(DType::f32), {B, T}));

  Generator rng(page.seed_or(15));
  const CrossAttention attention(3, 1, rng);
  const Variable x(filled, true);
  const Attention plain = attention.forward(x, x), masked = attention.forward(x, x, mask);
  const std::vector<std::string> labels = {"Your", "journey", "PAD", "PAD", "PAD", "PAD"};
  page.heat_map(Text{"text 2 without the mask", "第 2 段，不加掩码"},
                select(select(plain.weights.value(), 0, 1), 0, 0), labels, labels);
  page.heat_map(Text{"text 2 with the mask", "第 2 段，加掩码"},
                select(select(masked.weights.value(), 0, 1), 0, 0), labels, labels);
  page.say(
      {"The padded columns are exactly 0. The padded rows are not: those queries are computed too, but "
       "nobody reads them, and the loss leaves them out.",
       "填充的列正好是 0。填充的行不是 0：这些查询也会算，但没有人读，损失也不算它们。"});

  page.heading({"Two tests that matter", "两项要紧的检验"});
  const Variable alone(slice(example_words(), 0, 0, 2));
  const Tensor short_text = attention.forward(alone, alone).out.value(),
               in_batch = slice(select(masked.out.value(), 0, 1), 0, 0, 2);
  page.matrix(Text{"text 2 alone", "第 2 条文本，单独算"}, short_text);
  page.matrix(Text{"text 2 in the batch", "第 2 条文本，放在一批里算"}, in_batch);
  page.say({"Largest difference: {}.", "最大差别：{}。"},
           fmt::format("{:.1e}", max(abs(short_text - in_batch)).item()));

  Tensor real = reshape(mask.to(DType::f32), {B, T, 1});  // 1 for words, 0 for padding
  sum(masked.out * masked.out * Variable(real)).backward();
  const Tensor gradient = sum(abs(x.grad().value()), {-1});  // (B, T)
  page.matrix(Text{"gradient of a loss over the real words, per place", "只算真词的损失，对每个位置的梯度"},
              gradient);
  const double leak = max(gradient * (1.0 - reshape(real, {B, T}))).item();
  check(leak == 0, "padding", "the gradient of padding is {}", leak);

  page.heading({"A mask that looks right, and is not", "一个看着对、其实不对的掩码"});
  page.say(
      {"One of the texts behind this project makes the mask with shape (B, T) and hands it to the scores "
       "as it is. Shapes are matched from the right, so B would have to be the number of queries:",
       "本项目依据的一篇文章里，掩码的形状是 (B, T)，直接就用到分数上。形状是从右往左对齐的，于是 B 被当"
       "成了查询的个数："});
  try {
    attention.forward(x, x, reshape(mask, {B, T}));
  } catch (const Error& error) {
    page.line("  {}", error.what());
  }
  page.say(
      {"That is luck. With 6 texts of 6 words it would go through, and text b's mask would be applied to "
       "query b of every text. Nothing would complain, and the model would learn a little worse.",
       "报错算运气好。如果正好是 6 条 6 个词的文本，就不会报错：第 b 条文本的掩码会用到每条文本的第 b 个"
       "查询上。没有任何提示，模型只是学得差一点。"});

  page.heading({"Causal and padding together", "因果掩码加填充掩码"});
  const Tensor both = combine_masks(minigpt::causal_mask(T), mask);
  page.line("  {}  &  {}  ->  {}", minigpt::causal_mask(T).shape(), mask.shape(), both.shape());
  page.matrix(Text{"text 2, as numbers", "第 2 条文本，写成数"},
              select(select(both.to(DType::f32), 0, 1), 0, 0));

  page.exercise(
      {"A text of length 0, all padding: what are its weights?", "长度为 0、全是填充的文本，权重是多少？"},
      {"all 0, not NaN", "全是 0，不是 NaN"}, 0, [&] {
        const Tensor none = padding_mask(std::vector<std::int64_t>{0, 0, 0}, T);
        return max(attention.forward(x, x, none).weights.value()).item();
      }());
  page.exercise(
      {"What share of this batch is padding?", "这一批里填充占多少？"},
      {"6 of 18 places, 0.3333: a third of the work is wasted, so texts of similar length are put together",
       "18 个位置里有 6 个，0.3333，三分之一的计算白做了，所以常把长度相近的文本放在一批"},
      0.3333, 1 - mean(mask.to(DType::f32)).item());
  page.exercise({"How many of the 36 weights of text 2 may be used under both masks?",
                 "两个掩码都用上，第 2 条文本的 36 个权重里还有几个能用？"},
                {"1 + 2 x 5 = 11", "1 + 2 x 5 = 11"}, 11, sum(select(both.to(DType::f32), 0, 1)).item());
}

}  // namespace minigpt::lessons
