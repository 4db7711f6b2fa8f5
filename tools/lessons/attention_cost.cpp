#include <cmath>

#include "autograd/ops/causal_attention.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tools/bench/clock.h"
#include "tools/figures/line_plot.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr std::int64_t kWidth = 64;  // one head of 64 channels

// y = factor x^exponent, the straight line in logarithms with the least squares:
//   exponent = sum (ln x - mean ln x)(ln y - mean ln y) / sum (ln x - mean ln x)^2
struct PowerLaw {
  double exponent, factor;
};

PowerLaw fit(const std::vector<double>& x, const std::vector<double>& y, std::size_t first) {
  double mx = 0, my = 0, above = 0, below = 0;
  const auto n = static_cast<double>(x.size() - first);
  for (std::size_t i = first; i < x.size(); ++i) {
    mx += std::log(x[i]) / n;
    my += std::log(y[i]) / n;
  }
  for (std::size_t i = first; i < x.size(); ++i) {
    above += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
    below += (std::log(x[i]) - mx) * (std::log(x[i]) - mx);
  }
  return {above / below, std::exp(my - above / below * mx)};
}

// What one way of computing attention takes for each length.
struct Curve {
  std::vector<double> n, milliseconds, bytes;

  template <class F>
  void measure(std::int64_t length, double slice, const F& attend) {
    n.push_back(static_cast<double>(length));
    // The fastest of several runs: whatever else the machine does only ever adds time.
    milliseconds.push_back(1e3 * tools::seconds_per_call(slice, attend, true));
    const std::int64_t before = memory_stats().live_bytes;
    reset_peak_memory();
    attend();
    bytes.push_back(static_cast<double>(memory_stats().peak_bytes - before));
  }

  figures::Series series(const char* name, const std::vector<double>& y) const { return {name, n, y}; }
};

// The fitted line, over the lengths it was fitted to.
figures::Series line_of(const Page& page, const PowerLaw& law, const Curve& curve, std::size_t first) {
  figures::Series s{
      fmt::format("{} n^{:.2f}", page.pick({"fit:", "拟合："}), law.exponent), {}, {}, false, true};
  for (std::size_t i = first; i < curve.n.size(); ++i) {
    s.x.push_back(curve.n[i]);
    s.y.push_back(law.factor * std::pow(curve.n[i], law.exponent));
  }
  return s;
}

}  // namespace

void attention_cost(Page& page) {
  page.heading({"What attention costs", "注意力的代价"});
  page.say({"n positions look at n positions: n^2 scores, each a dot product over the width of the head. "
            "Twice the text, four times "
            "the work. Here is one head of {} channels on one thread, forward, computed in two ways.",
            "n 个位置去看 n 个位置，就有 n^2 "
            "个分数，每个是一次与头同宽的点积。文字长一倍，工作量是四倍。下面用一个宽 {} 的头，"
            "一个线程，只算前向，用两种写法来测。"},
           kWidth);
  page.say(
      {"plain: one operation after the other, as it is written on paper. The scores, the masked scores and "
       "the weights are whole n x n "
       "matrices in memory, of 4 n^2 bytes each.\n"
       "fused: one kernel that takes a block of queries at a time and only ever holds the scores of that "
       "block; and it "
       "leaves out the keys that are in the future of the whole block, nearly half of the work.",
       "普通写法：像纸上写的那样一步一步算。分数、加了掩码的分数、权重，都是内存里完整的 n x n 矩阵，每个 4 "
       "n^2 字节。\n"
       "融合写法：一个内核每次只处理一小块查询，手里只有这一块的分数；对整块来说都在“未来”的键干脆不算，省下"
       "将近一半的活。"});
  page.line({"      n    plain ms    fused ms    plain MB    fused MB",
             "      n    普通 毫秒   融合 毫秒     普通 MB     融合 MB"});
  const ScopedNumThreads one_thread(1);
  const NoGrad no_grad;
  Generator rng(page.seed_or(1));
  Curve plain, fused;
  const double slice = page.quick() ? 0.001 : 0.3;
  for (std::int64_t n = 64; n <= (page.quick() ? 256 : 4096); n *= 2) {
    Tensor x = Tensor::empty({1, n, 3 * kWidth});
    rng.normal(std::span(x.mutable_data<float>(), static_cast<std::size_t>(x.numel())));
    const Variable qkv(x);
    plain.measure(n, slice, [&] { causal_attention_composed(qkv, 1); });
    fused.measure(n, slice, [&] { causal_attention(qkv, 1); });
    page.line("{:>7} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f}", n, plain.milliseconds.back(),
              fused.milliseconds.back(), 1e-6 * plain.bytes.back(), 1e-6 * fused.bytes.back());
  }
  release_cached_memory();

  page.heading({"The exponent", "指数是多少"});
  page.say(
      {"If time = c n^p, then ln(time) = ln(c) + p ln(n): a straight line, whose slope p least squares "
       "finds. Short texts are left out, "
       "because there the parts that grow with n alone, and the mere start of an operation, still count.",
       "如果 时间 = c n^p，那么 ln(时间) = ln(c) + p ln(n)，是一条直线，斜率 p "
       "用最小二乘求出。短的文字不算在内：那里只随 n "
       "增长的部分，以及每个操作的启动开销，还不能忽略。"});
  const std::size_t first = plain.n.size() > 4 ? 3 : 0;
  const PowerLaw plain_time = fit(plain.n, plain.milliseconds, first),
                 fused_time = fit(fused.n, fused.milliseconds, first),
                 plain_bytes = fit(plain.n, plain.bytes, first),
                 fused_bytes = fit(fused.n, fused.bytes, first);
  page.say({"From n = {:.0f} on:", "从 n = {:.0f} 起："}, plain.n[first]);
  page.line("  plain  time n^{:.2f}   bytes n^{:.2f}", plain_time.exponent, plain_bytes.exponent);
  page.line("  fused  time n^{:.2f}   bytes n^{:.2f}", fused_time.exponent, fused_bytes.exponent);
  page.say({"Both take time with the square of the length: fusing changes the factor (here {:.1f} times at n "
            "= {:.0f}), not the law. Memory "
            "is another matter: n^2 for the plain way, n for the fused one, whose n x n matrix never exists. "
            "An exponent a little above 2 is no mistake "
            "either: from some length on, an n x n matrix no longer fits into the caches. The figures are of "
            "this machine, now; on a busy one they wander, and an exponent may be off by 0.1 or 0.2.",
            "两种写法的时间都按长度的平方增长：融合改变的是系数（这里在 n = {1:.0f} 时快 {0:.1f} "
            "倍），改变不了规律。内存就不同"
            "了：普通写法是 n^2，融合写法是 n，因为那个 n x n "
            "的矩阵从来没有存在过。指数略大于 2 也不奇怪：n 大到一定程度，n x n "
            "的矩阵就放不进缓存了。这些数字是这台机器此刻的实测；机器忙的时候"
            "会有波动，指数差个 0.1 或 0.2 很正常。"},
           plain.milliseconds.back() / fused.milliseconds.back(), plain.n.back());
  figures::LinePlot plot{page.pick({"Time of one attention head", "一个注意力头的时间"}),
                         page.pick({"n, positions", "n，位置数"}),
                         page.pick({"milliseconds", "毫秒"}),
                         figures::Scale::log2,
                         figures::Scale::log10,
                         {plain.series(page.pick({"plain", "普通"}), plain.milliseconds),
                          line_of(page, plain_time, plain, first),
                          fused.series(page.pick({"fused", "融合"}), fused.milliseconds),
                          line_of(page, fused_time, fused, first)}};
  page.figure("attention-cost-time", figures::line_plot_svg(plot));
  plot.title = page.pick({"Memory of one attention head, at its peak", "一个注意力头的内存峰值"});
  plot.y_label = page.pick({"bytes", "字节"});
  plot.series = {
      plain.series(page.pick({"plain", "普通"}), plain.bytes), line_of(page, plain_bytes, plain, first),
      fused.series(page.pick({"fused", "融合"}), fused.bytes), line_of(page, fused_bytes, fused, first)};
  page.figure("attention-cost-bytes", figures::line_plot_svg(plot));

  page.exercise({"How many megabytes (10^6 bytes) does one n x n matrix of floats take for n = 4096?",
                 "n = 4096 时，一个 n x n 的 float 矩阵占多少兆字节（10^6 字节）？"},
                {"4 * 4096^2 = 67.1089 MB, for every head of every sequence",
                 "4 * 4096^2 = 67.1089 MB，每条序列的每个头都要一份"},
                67.1089, 4e-6 * 4096 * 4096);
  page.exercise({"Which share of the n x n scores does a causal mask hide for n = 64?",
                 "n = 64 时，因果掩码遮住了 n x n 个分数的多大一部分？"},
                {"n (n - 1) / 2 of n^2: 63 / 128 = 0.4922", "n^2 个里的 n (n - 1) / 2 个：63 / 128 = 0.4922"},
                0.4922, (64.0 * 63 / 2) / (64.0 * 64));
  page.exercise({"An MLP of 4 times the width C costs 16 n C^2 operations, the scores and the weighted sum "
                 "of attention 4 n^2 C. At which n are "
                 "they equal for C = 384?",
                 "四倍宽的 MLP 要 16 n C^2 次运算，注意力的打分和加权求和要 4 n^2 C 次。C = 384 时，n "
                 "是多少两者相等？"},
                {"n = 4 C = 1536: below that, the square is not what a model's time goes into",
                 "n = 4 C = 1536：比这短的时候，时间主要不花在平方项上"},
                1536, 16.0 * 384 * 384 / (4.0 * 384));
}

}  // namespace minigpt::lessons
