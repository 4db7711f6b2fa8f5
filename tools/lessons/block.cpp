#include "autograd/ops.h"
#include "nn/attention_block.h"
#include "nn/encoder_layer.h"
#include "nn/optim/adam.h"
#include "tensor/reduce.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

Tensor normal(const Shape& shape, Generator& rng) {
  Tensor x = Tensor::empty(shape);
  rng.normal(std::span<float>(x.mutable_data<float>(), static_cast<std::size_t>(x.numel())));
  return x;
}

template <class M>
double count(M& module) {
  return static_cast<double>(parameter_count(named_parameters(module)));
}

// How well a block and a read-out learn y_c = x_c * x_(c+1), a product no sum of inputs can express. The words stand alone
// (T = 1), so that attention has nothing to add. Returns the mean squared error on new inputs; guessing 0 gives 1.
template <class M>
double learn_products(M& block, Generator& rng, Page& page, const char* name) {
  constexpr std::int64_t kWidth = 8, kBatch = 128;
  Linear read_out(kWidth, kWidth, true, rng);
  std::vector<NamedParameter> parameters = named_parameters(block);
  for (const NamedParameter& p : named_parameters(read_out)) parameters.push_back(p);
  Adam optimizer({{parameters, 0.003, 0}});
  double average = 0;
  for (int step = 1; step <= 1500; ++step) {
    const Tensor x = normal({kBatch, 1, kWidth}, rng);
    const Tensor next = concat({slice(x, 2, 1, kWidth), slice(x, 2, 0, 1)}, 2);
    const Variable error = read_out.forward(block.forward(Variable(x))) - Variable(x * next);
    const Variable loss = mean(error * error);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step > 1400) average += loss.item() / 100;
  }
  page.line("  {:<38} {} {:.2f}", name, page.chinese() ? "误差" : "error", average);
  return average;
}

}  // namespace

void block(Page& page) {
  page.heading({"The block: what attention is wrapped in", "Transformer 块：包在注意力外面的东西"});
  page.say(
      {"Attention only mixes: its result is a mean of values. A block adds what is missing, in two steps "
       "of the same form:",
       "注意力只会混合：结果是值的平均。Transformer 块补上缺的东西，分两步，形式相同："});
  page.line("  x = norm1(x + dropout(attention(x)))");
  page.line("  x = norm2(x + dropout(ffn(x)))");
  page.say(
      {"x + ... keeps what was there (the residual connection): a layer only adds its correction. norm "
       "brings each word back to mean 0 and variance 1 (lesson layer-norm). ffn works on each word alone: "
       "attention gathers, ffn digests. This is nn/attention_block.h, with the sizes of the text it "
       "follows:",
       "x + ... 保留原来的内容（残差连接）：每层只补上一点修正。norm 把每个词调回均值 0、方差 1（见 "
       "layer-norm 一课）。ffn 单独处理每个词：注意力负责收集，ffn 负责消化。代码在 nn/attention_block.h，"
       "尺寸和它依据的文章一样："});
  const std::uint64_t seed = page.seed_or(16);
  Generator rng(seed);
  {
    const NoGrad no_grad;
    const AttentionBlock book(512, 8, 0.1, rng);
    const Variable x(normal({4, 16, 512}, rng));
    page.line("  x {} -> block, 8 heads -> {}", x.shape(), book.forward(x).shape());
  }
  page.say({"Shape in = shape out, so blocks can be stacked as high as you like.",
            "输入和输出形状相同，所以想叠多少层都行。"});

  page.heading({"What a real feed-forward part adds", "真正的前馈层多了什么"});
  page.say(
      {"That text's ffn is one Linear layer. Attention ends in a Linear layer too, and two in a row are "
       "worth one: W2 (W1 x) = (W2 W1) x. A real one widens each word to 4 times its size, bends it with "
       "GELU, and narrows it again. The bend is what counts:",
       "那篇文章的 ffn 只有一个 Linear 层。注意力的末尾也是 Linear 层，两个连着只顶一个：W2 (W1 x) = (W2 "
       "W1) x。真正的前馈层先把每个词展宽到 4 倍，用 GELU “弯一下”，再收窄。关键就在这一弯："});
  const Linear first(8, 32, false, rng), second(32, 8, false, rng);
  const Variable y(normal({5, 8}, rng));
  const Variable product = matmul(second.weight, first.weight);  // (8, 32) x (32, 8) -> (8, 8)
  const double gap = max(abs((second.forward(first.forward(y)) - linear(y, product)).value())).item();
  page.say({"Two Linear layers, 8 -> 32 -> 8, against one matrix (8, 8): the largest difference is {}.",
            "两个 Linear 层（8 -> 32 -> 8）和一个 (8, 8) 矩阵相比，最大差别是 {}。"},
           fmt::format("{:.1e}", gap));
  page.say(
      {"And what it is good for: learning x_1 x_2, x_2 x_3, ... for random words, 1500 steps; always "
       "guessing 0 has error 1.",
       "再看有什么用：让它学 x_1 x_2、x_2 x_3……，词是随机的，训练 1500 步；永远猜 0 的误差是 1。"});
  AttentionBlock plain(8, 1, 0.0, rng);
  const TransformerLayerOptions wide = {
      .d_model = 8, .nhead = 1, .dim_feedforward = 32, .activation = Activation::gelu_erf};
  TransformerLayerOptions straight = wide;
  straight.activation = Activation::none;
  TransformerEncoderLayer unbent(straight, rng), bent(wide, rng);
  learn_products(plain, rng, page, "ffn = one Linear");
  learn_products(unbent, rng, page, "ffn 4 times as wide, without GELU");
  learn_products(bent, rng, page, "ffn 4 times as wide, with GELU");

  AttentionBlock small(512, 8, 0.1, rng);
  page.exercise({"How many numbers does the block with 512 channels learn?", "512 个通道的块要学多少个数？"},
                {"4 + 1 Linear layers of 512 x 512 + 512, and 2 norms of 2 x 512: 1315328",
                 "5 个 Linear 层，每个 512 x 512 + 512，再加 2 个 norm，每个 2 x 512：1315328"},
                1315328, count(small));
  page.exercise({"And with a feed-forward part 4 times as wide?", "如果前馈层是 4 倍宽呢？"},
                {"the ffn grows from 262656 to 2099712 numbers, two thirds of the block: 3152384",
                 "前馈层从 262656 个数变成 2099712 个，占整个块的三分之二：3152384"},
                3152384, [&] {
                  TransformerEncoderLayer full({.d_model = 512, .nhead = 8, .dim_feedforward = 2048}, rng);
                  return count(full);
                }());
}

}  // namespace minigpt::lessons
