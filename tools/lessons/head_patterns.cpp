#include <algorithm>
#include <cmath>

#include "models/evaluate.h"
#include "models/head_analysis.h"
#include "tools/figures/line_plot.h"
#include "tools/lessons/head_names.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/small_gpt.h"

namespace minigpt::lessons {
namespace {

std::vector<std::vector<std::int32_t>> windows_of(const SmallGpt& gpt, std::size_t most) {
  std::vector<std::vector<std::int32_t>> windows;
  const auto block = static_cast<std::size_t>(gpt.model->config.block_size);
  for (std::size_t at = 0; at + block <= gpt.held_out.size() && windows.size() < most; at += block)
    windows.emplace_back(gpt.held_out.begin() + static_cast<std::ptrdiff_t>(at),
                         gpt.held_out.begin() + static_cast<std::ptrdiff_t>(at + block));
  return windows;
}

// Scores of one row of weights, for the exercises: the last row of a text of that many tokens.
Score entropy_of(std::vector<double> row) {
  const std::size_t n = row.size();
  std::vector<double> weights(n * n);
  for (std::size_t i = 0; i + 1 < n; ++i) weights[i * n] = 1;  // rows before it: entropy 0
  std::copy(row.begin(), row.end(), weights.end() - static_cast<std::ptrdiff_t>(n));
  HeadScores scores;
  scores.add(weights, std::vector<std::int32_t>(n), std::vector<TokenKind>(n));
  return scores.entropy;
}

}  // namespace

void head_patterns(Page& page) {
  page.heading({"What do heads specialise in?", "每个头都在看什么？"});
  page.say(
      {"Nobody tells a head what to look at. After training, some patterns appear again and again; each can "
       "be measured as a mean weight. "
       "A number alone says little: beside it stands what attention that spreads evenly would give at the "
       "same places.",
       "没有人告诉一个头该看哪里。训练之后，有几种规律却反复出现，而且都可以用平均权重来度量。单看一个数没有"
       "意义，所以旁边总放着"
       "均匀的注意力在同样位置上会得到的数。"});
  SmallGptShape shape;
  if (page.quick()) shape = {2, 2, 16, 16, 2, 2};
  const SmallGpt gpt = small_gpt(page, shape);
  const std::vector<std::vector<std::int32_t>> windows = windows_of(gpt, 64);
  std::vector<HeadReport> heads = analyse_heads(*gpt.model, token_kinds(gpt.tokenizer), windows);
  // On fewer characters than the scores: the loss is computed once more for every head.
  const std::span<const std::int32_t> some =
      std::span(gpt.held_out).first(std::min<std::size_t>(gpt.held_out.size(), 4096));
  const double whole =
      measure_ablation(*gpt.model, heads, [&](const Gpt& m) { return score_text(m, some).loss(); });

  page.line({"  head  previous   entropy  top 4   first  distance  loss+    what it does",
             "    头    前一个       熵  前四大  第一个  平均距离   损失+   在做什么"});
  for (const HeadReport& h : heads)
    page.line("{:>6} {:>9.3f} {:>9.3f} {:>6.3f} {:>7.3f} {:>9.1f} {:>+7.4f}   {}", name_of(h),
              h.scores.offset[1].value(), h.scores.entropy.value(), h.scores.top.value(),
              h.scores.sink.value(), h.scores.distance.value(), h.loss_rise, type_of(page, h));
  const HeadScores& even = heads[0].scores;
  page.line("{:>6} {:>9.3f} {:>9.3f} {:>6.3f} {:>7.3f} {:>9.1f}", page.chinese() ? "均匀" : "even",
            even.offset[1].uniform(), even.entropy.uniform(), even.top.uniform(), even.sink.uniform(),
            even.distance.uniform());

  page.heading({"Previous-token and fixed-offset heads", "看前一个词元的头，和看固定距离的头"});
  const HeadReport& previous = top_by(heads, [](const HeadReport& h) { return h.scores.offset[1].lift(); });
  page.say(
      {"The score for an offset k is the mean weight on position i - k, over all i that have one. Head {} "
       "has the most on k = 1:",
       "偏移 k 的得分，是所有存在第 i - k 个位置的 i，在那里的权重的平均。k = 1 得分最高的是第 {} 个头："},
      name_of(previous));
  std::string offsets, evens;
  for (std::size_t k = 0; k <= 6 && previous.scores.offset[k].rows > 0; ++k) {
    offsets += fmt::format(" {:>6.3f}", previous.scores.offset[k].value());
    evens += fmt::format(" {:>6.3f}", previous.scores.offset[k].uniform());
  }
  page.line("  k          0      1      2      3      4      5      6");
  page.line("  weight{}\n  even  {}", offsets, evens);
  page.say(
      {"Some texts also list a head that looks at the next token, i + 1. In a causal model it cannot exist: "
       "the mask makes that weight exactly 0.",
       "有的文章还列出“看后一个词元（i + 1）”的头。在因果模型里它不可能存在：掩码让那个权重恰好是 0。"});

  page.heading({"Broadcast heads", "广播头"});
  const HeadReport& broad = top_by(heads, [](const HeadReport& h) { return h.scores.entropy.value(); });
  page.say({"Entropy says how evenly a row spreads: -sum w ln w, divided by ln(i + 1) so that 1 is even and "
            "0 a single position. The broadest "
            "head is {} with {:.3f}. The nearer to 1, the more a head takes just the mean of all that came "
            "before.",
            "熵说明一行权重散得有多开：-sum w ln w，再除以 ln(i + 1)，这样 1 表示完全均匀，0 "
            "表示只看一个位置。最散的是第 {} 个头，{:.3f}，"
            "越接近 1，这个头取的就越是前面所有内容的平均。"},
           name_of(broad), broad.scores.entropy.value());

  page.heading({"Sparse heads, and the sink", "稀疏头，和汇聚点"});
  const HeadReport& sparse = top_by(heads, [](const HeadReport& h) { return h.scores.top.lift(); });
  const HeadReport& sink = top_by(heads, [](const HeadReport& h) { return h.scores.sink.lift(); });
  page.say(
      {"Sparse: much weight on few positions, wherever they are. Head {}: {:.3f} on its four heaviest (even: "
       "{:.3f}).\n"
       "Sink: weight on position 0, which carries little meaning; a row has to add up to 1, so a head with "
       "nothing to say parks its "
       "weight there. The most here: head {} with {:.3f} (even: {:.3f}). Large models have strong sinks; a "
       "small one trained for "
       "seconds need not, and if the number is small, that is the finding.",
       "稀疏：大部分权重集中在少数几个位置上，不管它们在哪里。第 {} 个头，最重的四个位置占 "
       "{:.3f}（均匀：{:.3f}）。\n"
       "汇聚：权重落在第 0 个位置上，而那里并没有多少信息；一行的和必须是 "
       "1，没话可说的头就把权重停在那里。这里最明显的是第 {} 个头："
       "{:.3f}（均匀：{:.3f}）。大模型的汇聚很强；只训练了几秒的小模型未必有，数字小，那就是测出来的结论。"},
      name_of(sparse), sparse.scores.top.value(), sparse.scores.top.uniform(), name_of(sink),
      sink.scores.sink.value(), sink.scores.sink.uniform());

  page.heading({"Near below, far above?", "低层看近，高层看远？"});
  figures::Series distance{page.pick({"mean distance", "平均距离"}), {}, {}};
  for (std::int64_t l = 0; l < gpt.model->config.n_layer; ++l) {
    page.line("  layer {}: {:.2f}", l, mean_distance(heads, l));
    distance.x.push_back(static_cast<double>(l));
    distance.y.push_back(mean_distance(heads, l));
  }
  page.say({"The mean distance in characters over a layer's heads (even: {:.2f}). One often reads that "
            "layers 1-2 are local, 3-8 syntactic and 9-12 "
            "semantic. Such bands were read off models of 12 layers; in another model, think of relative "
            "depth, and measure. Even that can fail: the same recipe with rotary positions (the default of "
            "minigpt train) gave "
            "a lowest layer that looked further back than the three above it.",
            "上面是每层所有头往回看的平均距离，单位是字符（均匀：{:.2f}）。常见的说法是第 1-2 层看局部、3-8 "
            "层管语法、9-12 层管语义。那是从 12 层的"
            "模型里看出来的；换一个模型，应该按相对深度来想，并且自己测一测。就连这样也未必成立：同样的训练方"
            "法换成旋转位置（minigpt train 的默认设置），最低的一层反而比上面三层看得更远。"},
           even.distance.uniform());
  page.figure("head-patterns-distance",
              figures::line_plot_svg({page.pick({"How far back each layer looks", "每层往回看多远"}),
                                      page.pick({"layer", "层"}),
                                      page.pick({"characters", "字符"}),
                                      figures::Scale::linear,
                                      figures::Scale::linear,
                                      {distance}}));

  page.heading({"What is a head worth?", "一个头值多少？"});
  std::vector<HeadReport> ranked = heads;
  sort_by_loss_rise(ranked);
  page.say({"A pattern is not yet a purpose. loss+ is how much the loss on the held-out text rises from "
            "{:.4f} if the head's columns of the output "
            "matrix are set to 0, so that what it found goes nowhere. It is most for head {} ({:+.4f}: {}) "
            "and least for head {} ({:+.4f}: {}).",
            "看得出规律，不等于有用。“损失+"
            "”是把这个头在输出矩阵里对应的列都清零、让它找到的东西无处可去时，没见过的文字上的损失从 {:.4f} "
            "上升多少。"
            "影响最大的是第 {} 个头（{:+.4f}，{}），最小的是第 {} 个头（{:+.4f}，{}）。"},
           whole, name_of(ranked.front()), ranked.front().loss_rise, type_of(page, ranked.front()),
           name_of(ranked.back()), ranked.back().loss_rise, type_of(page, ranked.back()));

  page.exercise({"A row of four weights is 0.5 0.5 0 0. What is its normalised entropy?",
                 "一行四个权重是 0.5 0.5 0 0，归一化的熵是多少？"},
                {"ln 2 / ln 4 = 0.5", "ln 2 / ln 4 = 0.5"}, 0.5, entropy_of({0.5, 0.5, 0, 0}).sum);
  page.exercise({"How far back does even attention look on average from position 9?",
                 "从第 9 个位置看，均匀的注意力平均往回看多远？"},
                {"(0 + 1 + ... + 9) / 10 = 4.5", "(0 + 1 + … + 9) / 10 = 4.5"}, 4.5, 9 / 2.0);
}

}  // namespace minigpt::lessons
