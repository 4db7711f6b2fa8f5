#include <algorithm>

#include "models/gpt.h"
#include "nn/attention/causal_self_attention.h"
#include "tools/figures/line_plot.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/small_gpt.h"

namespace minigpt::lessons {
namespace {

std::int64_t attention_parameters(std::int64_t channels, std::int64_t heads, Generator& rng) {
  CausalSelfAttention attention(channels, heads, /*bias=*/true, /*p=*/0, rng);
  return parameter_count(named_parameters(attention));
}

}  // namespace

void head_count(Page& page) {
  page.heading({"More heads, not more parameters", "头多了，参数没有多"});
  page.say(
      {"A head with queries, keys and values of width D = C / H reads all C channels and has three matrices "
       "of (D, C). H of them stacked are "
       "three matrices of (H D, C) = (C, C), whatever H is. Together with the output matrix (C, C): 4 C^2 "
       "numbers, plus 4 C "
       "for biases. Heads cut one matrix into strips; they do not add any.",
       "一个头的查询、键、值宽 D = C / H，它读全部 C 个通道，有三个 (D, C) 的矩阵。把 H 个头叠起来，就是三个 "
       "(H D, C) = (C, C) "
       "的矩阵，与 H 无关。再加上输出矩阵 (C, C)：一共 4 C^2 个数，偏置另有 4 C "
       "个。多头只是把一个矩阵切成几条，并没有增加什么。"});
  Generator rng(page.seed_or(1337));
  constexpr std::int64_t kChannels = 64;
  page.line({" heads  width of each  parameters of attention", "  头数     每头宽度         注意力的参数量"});
  for (const std::int64_t heads : {1, 2, 4, 8})
    page.line("{:>6} {:>14} {:>24}", heads, kChannels / heads, attention_parameters(kChannels, heads, rng));
  page.say(
      {"The work is the same too, but for the softmax: H score matrices of D products each are n^2 H D = n^2 "
       "C multiplications, for "
       "any H; only their exponentials are H n^2.",
       "计算量也几乎一样，只有 softmax 例外：H 个分数矩阵，每个分数 D 次乘法，合计 n^2 H D = n^2 C 次，与 H "
       "无关；只有指数运算是 H n^2 次。"});

  page.heading({"The same budget with 1, 2, 4 and 8 heads", "同样的预算，1、2、4、8 个头"});
  SmallGptShape shape;
  shape.n_layer = 2;
  shape.n_embd = page.quick() ? 16 : kChannels;
  shape.block_size = page.quick() ? 16 : 64;
  shape.steps = 320;
  page.say(
      {"Four GPTs of {} layers and {} channels learn from the same batches of the same text, starting from "
       "the same seed. Only the number of "
       "heads differs.",
       "四个 GPT，都是 {} 层、{} 个通道，从同一个种子出发，用同样的文字、同样的批次训练，只有头数不同。"},
      shape.n_layer, shape.n_embd);
  figures::Series losses{page.pick({"held-out loss", "没见过的文字上的损失"}), {}, {}};
  std::vector<std::string> table;
  for (const std::int64_t heads : {1, 2, 4, 8}) {
    shape.n_head = heads;
    page.line("{}{}", page.chinese() ? "头数：" : "heads: ", heads);
    SmallGpt gpt = train_small_gpt(page, shape);
    table.push_back(fmt::format("{:>6} {:>14} {:>14} {:>12.4f} {:>9.1f}", heads, shape.n_embd / heads,
                                parameter_count(gpt.model->parameters()), gpt.loss, gpt.seconds));
    losses.x.push_back(static_cast<double>(heads));
    losses.y.push_back(gpt.loss);
  }
  page.line({"\n heads  width of each     parameters  loss (nats)   seconds",
             "\n  头数     每头宽度         参数量   损失(纳特)        秒"});
  for (const std::string& row : table) page.line("{}", row);
  const auto best = std::min_element(losses.y.begin(), losses.y.end()) - losses.y.begin();
  page.say({"The loss is on text that none of them has seen; in this run the lowest is the one with heads: "
            "{:.0f}. Two effects pull "
            "against each other. One head must blend all that a position wants to know into one weighted "
            "mean, several can each "
            "fetch something else. But each of several is narrower, and a match in few dimensions is coarse. "
            "So do not expect "
            "more to be better, least of all in a run as short as this one; and small differences may be "
            "luck: see what another "
            "--seed gives before you believe them.",
            "损失是在它们都没见过的文字上算的；这一次最低的是头数 "
            "{:.0f}。有两股相反的力量：只有一个头时，一个位置想知道的一切都得混进同一个"
            "加权平均里，有几个头就能各取所需；但头多了，每个也变窄，在很少几个维度里比较相似度会很粗糙。所以"
            "别指望头越多越好，尤其是"
            "这么短的训练；很小的差别也可能只是运气，换一个 --seed 再看看，然后再下结论。"},
           losses.x[static_cast<std::size_t>(best)]);
  page.figure("head-count", figures::line_plot_svg(
                                {page.pick({"The same budget, cut into heads", "同样的预算，分给几个头"}),
                                 page.pick({"heads", "头数"}),
                                 page.pick({"loss, nats per character", "损失，每个字符的纳特数"}),
                                 figures::Scale::log2,
                                 figures::Scale::linear,
                                 {losses}}));

  page.exercise(
      {"How many parameters does attention with biases have for C = 384 and 6 heads?",
       "C = 384、6 个头、带偏置的注意力有多少参数？"},
      {"4 * 384^2 + 4 * 384 = 591360; 12 heads: the same", "4 * 384^2 + 4 * 384 = 591360；12 个头也一样"},
      591360, static_cast<double>(attention_parameters(384, 6, rng)));
  page.exercise({"And as 6 separate heads that each keep the full width of 384, joined to 2304 channels and "
                 "projected back to 384 (biases everywhere)?",
                 "如果 6 个头各自保持 384 的全宽，拼成 2304 个通道再投影回 384（都带偏置），有多少参数？"},
                {"6 * 3 * (384^2 + 384) + 2304 * 384 + 384 = 3546240: that would be six times as many",
                 "6 * 3 * (384^2 + 384) + 2304 * 384 + 384 = 3546240：这样才是六倍"},
                3546240, 6.0 * 3 * (384 * 384 + 384) + 2304.0 * 384 + 384);
}

}  // namespace minigpt::lessons
