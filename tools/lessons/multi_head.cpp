#include "autograd/ops.h"
#include "nn/attention/multi_head_attention_wrapper.h"
#include "nn/attention/multi_head_causal_attention.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// Rows h D .. (h + 1) D - 1 of the big matrix become the matrix of head h.
void copy_head(const Linear& head, Linear& all, std::int64_t h) {
  const std::int64_t D = head.weight.dim(0);
  slice(all.weight.mutable_value(), 0, h * D, (h + 1) * D).copy_(head.weight.value());
}

}  // namespace

void multi_head(Page& page) {
  page.heading({"Several heads", "多个头"});
  page.say(
      {"One attention gives each word one set of weights: one question at a time. A word may want to know "
       "several things, who does it and where. So attention runs several times side by side, each time "
       "with matrices of its own. Each is a head.",
       "一个注意力给每个词一组权重：一次只能问一个问题。可一个词也许想知道好几件事：是谁做的，在哪里。于"
       "是让几个注意力并排运行，每个都有自己的矩阵。每一个就叫一个头。"});
  const std::uint64_t seed = page.seed_or(123);
  const Tensor words = example_words();
  const Variable batch(stack({words, words}));  // (2, 6, 3)

  page.heading({"1. Stacked: two single heads, side by side", "第一种：两个单头，拼在一起"});
  Generator rng(seed);
  const MultiHeadAttentionWrapper stacked(3, 2, 2, 0.0, false, rng);
  const Attention a = stacked.forward(batch);
  page.line("  x {} -> two heads of 2 -> {}", batch.shape(), a.out.shape());
  page.matrix(Text{"both heads, first text", "两个头，第一条文本"}, select(a.out.value(), 0, 0));
  page.heat_map(Text{"head 1", "第 1 个头"}, select(select(a.weights.value(), 0, 0), 0, 0), example_tokens(),
                example_tokens());
  page.heat_map(Text{"head 2", "第 2 个头"}, select(select(a.weights.value(), 0, 0), 0, 1), example_tokens(),
                example_tokens());
  page.say({"Columns 1 and 2 are those of the last lesson, since head 1 was drawn from the same seed.",
            "前两列和上一课相同，因为头 1 用的是同一个种子。"});

  page.heading({"2. At once: one wide projection, split afterwards", "第二种：一次投影，再拆分"});
  page.say(
      {"Running heads one after the other wastes time. nn/attention/multi_head_causal_attention.h makes "
       "the queries of all heads in one product, and then only looks at the same numbers differently. For "
       "2 texts of 4 words, 8 numbers each, and 2 heads:",
       "一个头接一个头地算太慢。nn/attention/multi_head_causal_attention.h 用一次乘法算出所有头的查询，然"
       "后只是换个方式看同样的数。例如 2 条文本，每条 4 个词，每个词 8 个数，2 个头："});
  const Variable wide(zeros({2, 4, 8}));
  const Variable split = split_heads(wide, 2);
  page.line("  projection         {}   B, T, H x D", wide.shape());
  page.line("  split into heads   {}   B, T, H, D", reshape(wide, {2, 4, 2, 4}).shape());
  page.line("  swap two axes      {}   B, H, T, D", split.shape());
  page.line("  scores             {}   B, H, T, T", matmul(split, transpose(split)).shape());
  page.line("  merge the heads    {}   B, T, H x D", merge_heads(split).shape());

  page.say({"And with the two texts of before, 6 words of 3 numbers each:",
            "再看前面那两条文本，每条 6 个词，每个词 3 个数："});
  rng.seed(seed);
  const MultiHeadCausalAttention book(3, 2, 2, 0.0, false, rng);
  const Attention b = book.forward(batch);
  page.line("  x {} -> W_query, W_key, W_value {} -> weights {} -> out_proj {} -> {}", batch.shape(),
            book.W_query.weight.shape(), b.weights.shape(), book.out_proj.weight.shape(), b.out.shape());
  page.matrix(Text{"2 heads of width 1, and out_proj", "2 个头，每个宽 1，再加 out_proj"}, b.out.value());

  page.heading({"3. Both are the same function", "它们是同一个函数"});
  page.say(
      {"The numbers differ because widths and draws differ, and because of out_proj. Copy the matrices of "
       "the two single heads into the rows of the wide one, make out_proj the identity, and compare:",
       "数字不同，是因为宽度和抽到的随机数不同，还多了 out_proj。把两个单头的矩阵抄到大矩阵的各行，让 "
       "out_proj 什么也不做，再比较："});
  MultiHeadCausalAttention together(3, 4, 2, 0.0, false, rng);
  for (std::int64_t h = 0; h < 2; ++h) {
    const CausalAttention& head = stacked.heads[static_cast<std::size_t>(h)];
    copy_head(head.W_query, together.W_query, h);
    copy_head(head.W_key, together.W_key, h);
    copy_head(head.W_value, together.W_value, h);
  }
  together.out_proj.weight.mutable_value().copy_(eye(4));
  together.out_proj.bias.mutable_value().fill_(0);
  const Tensor same = together.forward(batch).out.value();
  page.matrix(Text{"wide, with copied matrices, first text", "大矩阵，抄入两个头的矩阵，第一条文本"},
              select(same, 0, 0));
  const double gap = max(abs(same - a.out.value())).item();
  page.say({"Largest difference to the stacked heads: {}.", "和堆叠的头相比，最大差别是 {}。"},
           fmt::format("{:.1e}", gap));
  check(gap < 1e-6, "multi_head", "stacked heads and split heads differ by {}", gap);
  page.say(
      {"out_proj is there because heads only stand side by side: it is the first place where what one "
       "found meets what another found.",
       "为什么要有 out_proj？各个头只是并排放着，到这里，一个头的发现才第一次和另一个头的发现相遇。"});

  page.exercise({"768 channels and 12 heads, as in GPT-2: how wide is one head?",
                 "GPT-2 有 768 个通道、12 个头，一个头有多宽？"},
                {"768 / 12 = 64", "768 / 12 = 64"}, 64,
                static_cast<double>(split_heads(Variable(zeros({1, 1, 768})), 12).dim(-1)));
  page.exercise({"What is the third number of row 2 of the stacked heads, and which head made it?",
                 "拼接结果第 2 行的第三个数是多少？是哪个头算出来的？"},
                {"0.5891, made by head 2", "0.5891，是头 2 算出来的"}, 0.5891, a.out.value().at({0, 1, 2}));
  page.exercise({"How many numbers does the wide attention learn for 3 channels in, 4 out?",
                 "输入 3 个通道、输出 4 个通道，第二种注意力要学多少个数？"},
                {"3 x (3 x 4) + (4 x 4 + 4) = 56, whatever the number of heads",
                 "3 x (3 x 4) + (4 x 4 + 4) = 56，和头数无关"},
                56, static_cast<double>(parameter_count(named_parameters(together))));
}

}  // namespace minigpt::lessons
