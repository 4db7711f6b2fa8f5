#include "nn/attention/self_attention_v1.h"
#include "nn/attention/self_attention_v2.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// The largest difference between two matrices.
double largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor d = a - b;
  return std::max(max(d).item(), max(d * -1.0).item());
}

}  // namespace

void attention_classes(Page& page) {
  page.heading({"The same attention as a class, twice", "同一个注意力，写成类，写两遍"});
  page.say(
      {"The last lesson computed attention line by line. From here on it is a class that owns its "
       "matrices: nn/attention/self_attention_v1.h holds them as bare parameters, and is worth reading "
       "now; its forward is three lines.",
       "上一课是一行一行算的。从这里起，注意力是一个类，矩阵归它所有。nn/attention/self_attention_v1.h 直"
       "接存放矩阵，值得现在打开看看，它的 forward 只有三行。"});
  const Variable x(example_words());
  const std::uint64_t first_seed = page.seed_or(123);
  Generator rng(first_seed);
  const SelfAttentionV1 v1(3, 2, rng);
  const Attention first = v1.forward(x);
  page.matrix(Text{"v1, weights", "v1 的权重"}, first.weights.value());
  page.matrix(Text{"v1, context vectors", "v1 的上下文向量"}, first.out.value());
  page.say({"Row 2 is the vector of the last lesson: same seed ({}), same matrices, same result.",
            "第 2 行就是上一课的结果：种子（{}）相同，矩阵相同，结果也相同。"},
           first_seed);

  page.heading({"With Linear layers", "换成 Linear 层"});
  page.say(
      {"Everybody else writes x W with a Linear layer, which holds W and starts it well. "
       "nn/attention/self_attention_v2.h does. One detail: Linear keeps its matrix transposed, one row "
       "for each output, and computes x W^T.",
       "大家一般用 Linear 层来写 x W，它保存 W，并给出合适的初始值。nn/attention/self_attention_v2.h 就是"
       "这样写的。有一个细节：Linear 保存的矩阵是转置的，每个输出占一行，计算的是 x W^T。"});
  const std::uint64_t seed = page.seed_or(789);
  rng.seed(seed);
  const SelfAttentionV2 v2(3, 2, false, rng);
  page.say({"Its matrices are drawn from seed {}.", "它的矩阵用种子 {} 抽取。"}, seed);
  const Attention second = v2.forward(x);
  page.matrix(Text{"v2, weights", "v2 的权重"}, second.weights.value());
  page.matrix(Text{"v2, context vectors", "v2 的上下文向量"}, second.out.value());

  page.heading({"Why do the numbers differ?", "为什么数字不一样？"});
  page.say(
      {"Only because they start differently. v1 draws between 0 and 1, so every matrix pushes the same "
       "way and all results are positive. Linear draws between -1/sqrt(d_in) and 1/sqrt(d_in), here "
       "+-0.5774: centred, and the narrower the more numbers are summed, so that results stay as large as "
       "inputs.",
       "只因为初始值不同。v1 在 0 到 1 之间取值，每个矩阵都往同一个方向推，结果全是正数。Linear 在 "
       "-1/sqrt(d_in) 到 1/sqrt(d_in)（这里是 +-0.5774）之间取值：以 0 为中心，相加的数越多范围越窄，这样"
       "输出和输入保持差不多的大小。"});
  page.matrix(Text{"W_query of v1", "v1 的 W_query"}, v1.W_query.value());
  page.matrix(Text{"W_query of v2, transposed", "v2 的 W_query，转置之后"},
              transpose(v2.W_query.weight.value()));
  page.say(
      {"Small weights give scores near 0 and so attention that is almost even, 1/6 = 0.1667 each: v2 "
       "begins without an opinion, and learns one.",
       "权重小，分数就接近 0，注意力几乎平均，每个词都是 1/6 = 0.1667：v2 一开始没有偏好，偏好是学出来的。"});
  page.value(Text{"v1, largest weight", "v1 最大的权重"}, max(first.weights.value()).item());
  page.value(Text{"v2, largest weight", "v2 最大的权重"}, max(second.weights.value()).item());

  page.heading({"The proof: copy the matrices", "证明：把矩阵抄过去"});
  SelfAttentionV1 copy = v1;
  copy.W_query = Variable(transpose(v2.W_query.weight.value()));
  copy.W_key = Variable(transpose(v2.W_key.weight.value()));
  copy.W_value = Variable(transpose(v2.W_value.weight.value()));
  const Tensor same = copy.forward(x).out.value();
  page.matrix(Text{"v1 with the matrices of v2", "v1 用上 v2 的矩阵"}, same);
  page.value(Text{"largest difference to v2", "和 v2 的最大差别"},
             largest_difference(same, second.out.value()));

  page.exercise({"What bounds does Linear draw from if words have 768 numbers?",
                 "如果词向量有 768 个数，Linear 在什么范围内取初始值？"},
                {"+-1/sqrt(768) = +-0.0361", "+-1/sqrt(768) = +-0.0361"}, 0.0361, 1 / std::sqrt(768.0));
  page.exercise({"How far is v2's most attended word from an even share of 1/6?",
                 "v2 里最受关注的那个权重，比平均的 1/6 多多少？"},
                {"0.20413 - 0.16667 = 0.0375", "0.20413 - 0.16667 = 0.0375"}, 0.0375,
                max(second.weights.value()).item() - 1.0 / 6);
  page.exercise({"v2 can have biases (qkv_bias). How many numbers does it learn with them?",
                 "v2 也可以带偏置（qkv_bias）。带上之后一共学多少个数？"},
                {"3 x (3 x 2 + 2) = 24", "3 x (3 x 2 + 2) = 24"}, 24, [&] {
                  SelfAttentionV2 biased(3, 2, true, rng);
                  return static_cast<double>(parameter_count(named_parameters(biased)));
                }());
}

}  // namespace minigpt::lessons
