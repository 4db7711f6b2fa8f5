// Faults of sums, means and variances.

#include <algorithm>

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

double copies(const Step& s) {
  return static_cast<double>(numel(s.shape(0))) /
         static_cast<double>(std::max<std::int64_t>(1, s.dy.numel()));
}

void mean_without_n(const Step& s) { s.grads[0] = s.grads[0] * copies(s); }

void sum_as_mean(const Step& s) { s.grads[0] = s.grads[0] / std::max(1.0, copies(s)); }

void variance_two(const Step& s) { s.grads[0] = s.grads[0] * 0.5; }

}  // namespace

extern const Mutant kMeanWithoutN = {
    .at = "mean",
    .task = Task::net,
    .title =
        {"A classifier's gradient norm is fifteen from the first step on; it learns slowly and unevenly.",
         "分类器的梯度范数从第一步起就是十五；学得慢，而且不稳。"},
    .right = "y = mean of n elements:   dx = dy / n",
    .wrong = "dx = dy",
    .find = {"The backward of a sum. gradcheck: whatever passes a mean is wrong; where it is the only way "
             "(the loss of a batch), all ratios are n.",
             "用了求和的反向。gradcheck：经过平均的都不对；只有这一条路的地方（整批的损失），比值都是 n。"},
    .names = "mean|average|averaging|均值|平均",
    .fault = "1 n|divid|factor|sum|count|除以|因子|求和|个数",
    .backward = mean_without_n,
};

extern const Mutant kSumAsMean = {
    .at = "sum",
    .task = Task::net,
    .title = {"A classifier learns for a while, then blows up.", "分类器学了一阵，然后发散。"},
    .right = "y = sum of n elements:   dx = dy, repeated",
    .wrong = "dx = dy / n",
    .find = {"The backward of a mean. gradcheck: whatever passes a sum is wrong; where it is the only way, "
             "all ratios are 1 / n.",
             "用了平均的反向。gradcheck：经过求和的都不对；只有这一条路时比值都是 1 / n。"},
    .names = "sum|summation|求和",
    .fault = "1 n|divid|factor|mean|averag|除以|因子|平均|均值",
    .backward = sum_as_mean,
};

extern const Mutant kVarianceTwo = {
    .at = "var",
    .task = Task::net,
    .title = {"A classifier learns as ever; what feeds its normalisation has gradients that are off, on "
              "the other side.",
              "分类器学得和平时一样；通向归一化的梯度偏向另一边。"},
    .right = "y = mean((x - mean)^2):   dx = dy * 2 (x - mean) / n",
    .wrong = "dx = dy * (x - mean) / n",
    .find = {"The 2 of the square. Only what feeds a normalisation is wrong, and only a little. gradcheck "
             "sees it there.",
             "平方带来的 2。只有通向归一化的不对，而且只差一点。gradcheck 在那里看得出。"},
    .names = "var|variance|方差",
    .fault = "2|two|factor|half|square|twice|二|因子|一半|平方|系数",
    .backward = variance_two,
};

}  // namespace minigpt::zoo
