#include <algorithm>
#include <cmath>

#include "tensor/arithmetic.h"
#include "tensor/generator.h"
#include "tensor/matmul.h"
#include "tensor/reduce.h"
#include "tensor/rows.h"
#include "tensor/views.h"
#include "tools/bench/clock.h"
#include "tools/figures/line_plot.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr std::int64_t kKeys = 64;

Tensor normal(const Shape& shape, Generator& rng) {
  Tensor x = Tensor::empty(shape);
  rng.normal(std::span(x.mutable_data<float>(), static_cast<std::size_t>(x.numel())));
  return x;
}

// What happens to scores of a given size in the softmax and on the way back.
struct Softened {
  double largest;   // mean over the queries of the largest weight
  double gradient;  // median over the queries of the length of dL/dscores, for a random dL/dweights
  double stuck;     // share of the queries for which that is below 1/100
};

Softened soften(const Tensor& scores, const Tensor& dweights) {
  const Tensor weights = softmax(scores);                      // (N, keys)
  const Tensor dscores = softmax_backward(weights, dweights);  // p * (dp - sum(dp * p)), row by row
  std::vector<double> lengths;
  for (std::int64_t i = 0; i < dscores.dim(0); ++i)
    lengths.push_back(std::sqrt(sum_of_squares(select(dscores, 0, i))));
  const auto stuck = std::count_if(lengths.begin(), lengths.end(), [](double l) { return l < 0.01; });
  return {mean(max(weights, {-1})).item(), tools::median(lengths),
          static_cast<double>(stuck) / static_cast<double>(lengths.size())};
}

}  // namespace

void scaling(Page& page) {
  page.heading({"Why divide by sqrt(d)?", "为什么要除以 sqrt(d)？"});
  page.say(
      {"A score is a dot product q . k = q_1 k_1 + ... + q_d k_d. Say all numbers in q and k are "
       "independent, with mean 0 and "
       "variance 1, as they roughly are in an untrained network. Then each product has mean 0 and variance "
       "1, and variances of "
       "independent numbers add up: the score has variance d. The wider the head, the larger its scores, by "
       "sqrt(d).",
       "一个分数就是一次点积 q · k = q_1 k_1 + … + q_d k_d。假设 q 和 k 里的数互相独立，均值 0，方差 "
       "1（没训练过的网络大致"
       "如此）。那么每个乘积的均值是 0、方差是 1；独立的数相加，方差也相加，所以分数的方差是 "
       "d。头越宽，分数越大，大到 "
       "sqrt(d) 倍。"});
  page.say({"Measured: {} random queries against {} random keys each. The left half of the table takes the "
            "scores as they are, the right "
            "half divides them by sqrt(d).",
            "实测：随机取 {} 个查询，每个对 {} 个随机的键。表的左半边直接用分数，右半边先除以 sqrt(d)。"},
           page.quick() ? 64 : 1024, kKeys);
  page.line({"     d  variance  largest  gradient    stuck | variance  largest  gradient    stuck",
             "     d      方差  最大权重     梯度     卡住 |     方差  最大权重     梯度     卡住"});
  Generator rng(page.seed_or(123));
  const std::int64_t queries = page.quick() ? 64 : 1024;
  figures::Series variance{"q . k", {}, {}}, scaled_variance{"q . k / sqrt(d)", {}, {}},
      largest = variance, scaled_largest = scaled_variance;
  double stuck_wide = 0, stuck_wide_scaled = 0;
  for (std::int64_t d = 1; d <= 512; d *= 2) {
    const auto width = static_cast<double>(d);
    const Tensor q = normal({queries, 1, d}, rng), k = normal({queries, kKeys, d}, rng);
    const Tensor scores = reshape(matmul(q, transpose(k)), {queries, kKeys});  // (N, 1, d) x (N, d, keys)
    const Tensor scaled = scores / std::sqrt(width);
    const Tensor dweights = normal({queries, kKeys}, rng);
    const Softened plain = soften(scores, dweights), small = soften(scaled, dweights);
    page.line("{:>6} {:>9.2f} {:>8.3f} {:>9.4f} {:>7.1f}% | {:>8.3f} {:>8.3f} {:>9.4f} {:>7.1f}%", d,
              var(scores).item(), plain.largest, plain.gradient, 100 * plain.stuck, var(scaled).item(),
              small.largest, small.gradient, 100 * small.stuck);
    for (figures::Series* s : {&variance, &scaled_variance, &largest, &scaled_largest}) s->x.push_back(width);
    variance.y.push_back(var(scores).item());
    scaled_variance.y.push_back(var(scaled).item());
    largest.y.push_back(plain.largest);
    scaled_largest.y.push_back(small.largest);
    stuck_wide = plain.stuck;
    stuck_wide_scaled = small.stuck;
  }
  page.say({"variance: of the scores; it grows with d on the left and stays near 1 on the right.\n"
            "largest: the mean of the largest of the {0} weights. On the left it goes to 1: softmax no "
            "longer mixes, it picks one key.\n"
            "gradient: the length of the gradient of the scores for a random gradient of the weights, the "
            "median over all queries. "
            "Softmax hands back p (dp - sum dp p), which is 0 where one p is 1 and the others 0.\n"
            "stuck: the share of queries for which that length is below 0.01, so that they hardly learn: "
            "{1:.1f} % for d = 512 as "
            "it is, {2:.1f} % when scaled.",
            "方差：分数的方差。左边随 d 增长，右边一直在 1 附近。\n"
            "最大权重：{0} 个权重里最大那个的平均值。左边趋向 1：softmax 不再混合，而是只挑一个键。\n"
            "梯度：给权重一个随机的梯度，传回分数的梯度有多长（所有查询的中位数）。softmax 传回的是 p (dp - "
            "sum dp p)，如果"
            "一个 p 是 1、其余是 0，它就是 0。\n"
            "卡住：这个长度小于 0.01、几乎学不动的查询所占的比例。d = 512 时，不缩放是 {1:.1f} %，缩放后是 "
            "{2:.1f} %。"},
           kKeys, 100 * stuck_wide, 100 * stuck_wide_scaled);
  page.say(
      {"Where it is loose: training changes q and k, and a trained model may want large scores. It can still "
       "have them, by growing "
       "W_q and W_k. Dividing by sqrt(d) only makes sure that it starts where gradients flow, whatever the "
       "width of its heads.",
       "需要说明的是：训练会改变 q 和 k，训练好的模型也许正需要很大的分数。它照样可以做到，把 W_q 和 W_k "
       "变大就行。除以 "
       "sqrt(d) 只是保证：不管头有多宽，开始训练时梯度都是通的。"});
  figures::LinePlot plot{page.pick({"Variance of a score", "分数的方差"}),
                         page.pick({"d, width of the head", "d，头的宽度"}),
                         page.pick({"variance", "方差"}),
                         figures::Scale::log2,
                         figures::Scale::log2,
                         {variance, scaled_variance}};
  page.figure("scaling-variance", figures::line_plot_svg(plot));
  plot = {page.pick({"Largest of 64 softmax weights", "64 个 softmax 权重里最大的"}),
          page.pick({"d, width of the head", "d，头的宽度"}),
          page.pick({"mean of the largest weight", "最大权重的平均值"}),
          figures::Scale::log2,
          figures::Scale::linear,
          {largest, scaled_largest}};
  page.figure("scaling-largest-weight", figures::line_plot_svg(plot));

  page.exercise(
      {"Two keys have the scores 8 and 0, with d = 64. Which weight does the first one get without scaling?",
       "两个键的分数是 8 和 0，d = 64。不缩放时，第一个键的权重是多少？"},
      {"e^8 / (e^8 + 1) = 0.9997", "e^8 / (e^8 + 1) = 0.9997"}, 0.9997,
      softmax(Tensor::from<double>({8, 0}, {2})).at({0}));
  page.exercise({"And divided by sqrt(d)?", "除以 sqrt(d) 之后呢？"},
                {"8 / 8 = 1, so e / (e + 1) = 0.7311", "8 / 8 = 1，所以是 e / (e + 1) = 0.7311"}, 0.7311,
                softmax(Tensor::from<double>({8, 0}, {2}) / std::sqrt(64.0)).at({0}));
  const Tensor p = Tensor::from<double>({0.5, 0.5}, {2}), sure = Tensor::from<double>({0.99, 0.01}, {2}),
               dp = Tensor::from<double>({1, 0}, {2});
  page.exercise(
      {"For dL/dp = (1, 0): how many times larger is the first gradient of the scores at p = (0.5, 0.5) than "
       "at (0.99, 0.01)?",
       "设 dL/dp = (1, 0)。p = (0.5, 0.5) 时分数的第一个梯度，是 p = (0.99, 0.01) 时的多少倍？"},
      {"p (1 - p) is 0.25 and 0.0099: 25.2525 times", "p (1 - p) 分别是 0.25 和 0.0099：25.2525 倍"}, 25.2525,
      softmax_backward(p, dp).at({0}) / softmax_backward(sure, dp).at({0}));
}

}  // namespace minigpt::lessons
