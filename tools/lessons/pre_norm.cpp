#include <cmath>

#include "autograd/ops.h"
#include "nn/embedding.h"
#include "nn/encoder_layer.h"
#include "nn/optim/adam.h"
#include "nn/positions.h"
#include "tensor/reduce.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr std::int64_t kLayers = 8, kWidth = 32;

TransformerEncoder stack_of_layers(bool norm_first, Generator& rng) {
  TransformerLayerOptions options;
  options.d_model = kWidth;
  options.nhead = 4;
  options.dim_feedforward = 4 * kWidth;
  options.dropout = 0;
  options.activation = Activation::gelu_erf;
  options.norm_first = norm_first;
  return TransformerEncoder(options, kLayers, norm_first, rng);  // with pre-norm, one more norm at the end
}

// The usual size of a number in x after each layer; random words in.
std::vector<double> sizes_by_depth(bool norm_first, std::uint64_t seed) {
  const NoGrad no_grad;
  Generator rng(seed);
  const TransformerEncoder stack = stack_of_layers(norm_first, rng);
  Tensor start = Tensor::empty({4, 8, kWidth});
  rng.normal(std::span<float>(start.mutable_data<float>(), static_cast<std::size_t>(start.numel())));
  Variable x(start);
  std::vector<double> sizes;
  for (const TransformerEncoderLayer& layer : stack.layers) {
    x = layer.forward(x);
    sizes.push_back(std::sqrt(mean(x * x).item()));
  }
  return sizes;
}

// A task for a deep stack: write 8 random digits backwards. Returns the loss every 50 steps; guessing gives log 8 = 2.08.
std::vector<double> learn_reversal(bool norm_first, double rate, std::uint64_t seed) {
  constexpr std::int64_t B = 16, T = 8, C = kWidth;
  Generator rng(seed);
  Embedding digits(8, C, rng);
  LearnedPositions positions(T, C, rng);
  TransformerEncoder stack = stack_of_layers(norm_first, rng);
  Linear read_out(C, 8, true, rng);
  std::vector<NamedParameter> parameters = named_parameters(stack);
  for (auto list : {named_parameters(digits), named_parameters(positions), named_parameters(read_out)})
    parameters.insert(parameters.end(), list.begin(), list.end());
  Adam optimizer({{parameters, rate, 0}});
  std::vector<double> losses;
  Tensor text = Tensor::empty({B, T}, DType::i32), backwards = Tensor::empty({B, T}, DType::i32);
  for (int step = 0; step <= 150; ++step) {
    rng.randint(std::span<std::int32_t>(text.mutable_data<std::int32_t>(), B * T), 0, 8);
    for (std::int64_t t = 0; t < T; ++t) select(backwards, 1, t).copy_(select(text, 1, T - 1 - t));
    const Variable logits = read_out.forward(stack.forward(positions.forward(digits.forward(text))));
    const Variable loss = cross_entropy(reshape(logits, {B * T, 8}), reshape(backwards, {B * T}));
    if (step % 50 == 0) losses.push_back(loss.item());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  return losses;
}

}  // namespace

void pre_norm(Page& page) {
  const std::uint64_t seed = page.seed_or(16);
  page.heading({"Where to normalise: post-norm and pre-norm", "在哪里归一化：后归一化和先归一化"});
  page.say(
      {"The block of the last lesson normalises after adding, as the first transformers did. GPT-2 moved "
       "the norm in front of each part, so that x itself runs from bottom to top untouched, and the "
       "gradient runs back along the same road:",
       "上一课的块先相加再归一化，最早的 Transformer 就是这样。GPT-2 把归一化挪到每部分的前面，于是 x 自"
       "己从底到顶一路不受干扰，梯度也沿着同一条路回来："});
  page.line("  post-norm   x = norm1(x + attention(x))     x = norm2(x + ffn(x))");
  page.line("  pre-norm    x = x + attention(norm1(x))     x = x + ffn(norm2(x))");
  page.say(
      {"Nothing shrinks x any more, so it grows from layer to layer, and one more norm is needed on top. "
       "The usual size of its numbers, random words in, nothing trained:",
       "这样一来没有什么会把 x 变小，它逐层变大，所以最上面还要再加一个 norm。输入随机的词，未经训练，x "
       "里的数通常有多大："});
  const std::vector<double> post = sizes_by_depth(false, seed), pre = sizes_by_depth(true, seed);
  page.line("  {}   post-norm   pre-norm", page.chinese() ? "   层" : "layer");
  for (std::size_t i = 0; i < post.size(); ++i)
    page.line("  {:>5}   {:>9.4f}   {:>8.4f}", i + 1, post[i], pre[i]);

  page.heading({"The difference that matters: learning fast", "要紧的差别：能不能学得快"});
  page.say({"8 layers learn to write 8 digits backwards, at two learning rates. Guessing has loss 2.08.",
            "让 8 层网络学习把 8 个数字倒着写，用两种学习率。瞎猜的损失是 2.08。"});
  for (const double rate : {0.003, 0.01}) {
    const std::vector<double> slow = learn_reversal(false, rate, seed),
                              fast = learn_reversal(true, rate, seed);
    page.line("  {} {:<5}  step   post-norm   pre-norm", page.chinese() ? "学习率       " : "learning rate",
              rate);
    for (std::size_t i = 0; i < slow.size(); ++i)
      page.line("                      {:>5}   {:>9.4f}   {:>8.4f}", 50 * i, slow[i], fast[i]);
  }
  page.say(
      {"At the moderate rate both learn. At the higher one post-norm does not get off the ground: its "
       "first steps are too large, and it cannot recover. That is why post-norm models start with a tiny "
       "rate that slowly grows (warm-up). Pre-norm does not mind. GPT-2 and nearly everything after it is "
       "pre-norm, and so is nn/block.h.",
       "学习率适中时两者都能学会。学习率高的时候，后归一化起不来：最初几步迈得太大，再也回不来。所以后归"
       "一化的模型开头用很小的学习率，再慢慢加大（warm-up）。先归一化就没有这个问题。GPT-2 和后来的模型几"
       "乎都是先归一化，nn/block.h 也是。"});

  page.exercise(
      {"How many norms does the pre-norm stack of 8 layers have?", "8 层先归一化的网络一共有几个 norm？"},
      {"2 x 8 + 1 = 17", "2 x 8 + 1 = 17"}, 17, [&] {
        Generator rng(seed);
        TransformerEncoder stack = stack_of_layers(true, rng);
        double norms = 0;
        for (const NamedParameter& p : named_parameters(stack))
          norms += p.name.find("norm") != std::string::npos && p.name.ends_with(".weight");
        return norms;
      }());
  page.exercise({"Why is every number of the post-norm column 1?", "后归一化那一列为什么都是 1？"},
                {"each layer ends in a norm, whose weight is still 1: variance 1 means a usual size of 1",
                 "每一层都以 norm 结尾，它的权重还是 1：方差为 1，数的大小通常就是 1"},
                1, post.back());
}

}  // namespace minigpt::lessons
