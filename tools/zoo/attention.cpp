// Faults in attention: the softmax and the scale. Those of the mask are in mask.cpp.

#include <cmath>

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

void diagonal_only(const Step& s) {
  const Variable y = s.output();
  s.grads[0] = y * (1.0 - y) * s.dy;
}

void no_sum(const Step& s) { s.grads[0] = s.output() * s.dy; }

Variable over_queries(const Call& call) {
  const bool square = call.y.rank() >= 2 && call.y.dim(-1) == call.y.dim(-2);
  return square ? softmax(call.inputs[0], -2) : call.y;
}

void factor_forgotten(const Step& s) {
  if (s.grads.size() == 1) s.grads[0] = s.dy;
}

// The fused operation keeps log-sums of (B, H, T), which tell the width of a head.
void scale_forgotten(const Step& s) {
  const std::int64_t C = s.shape(0)[2] / 3, heads = s.other(0).dim(1);
  const std::vector<Variable> parts = split(s.grads[0], {2 * C, C}, 2);
  s.grads[0] = concat({parts[0] * std::sqrt(static_cast<double>(C / heads)), parts[1]}, 2);
}

void keys_for_queries(const Step& s) {
  const std::vector<Variable> parts = split(s.grads[0], s.shape(0)[2] / 3, 2);
  s.grads[0] = concat({parts[1], parts[0], parts[2]}, 2);
}

// The number of heads is that of the kept factors: one for each head of queries and keys.
void lengths_constant(const Step& s) {
  const std::int64_t B = s.dy.dim(0), T = s.dy.dim(1), C = s.dy.dim(2) / 3;
  if (B * T == 0) return;
  const std::int64_t heads = s.other().numel() / (B * T);
  const std::vector<Variable> parts = split(s.dy, {2 * C, C}, 2);
  const Variable by_head = reshape(parts[0], {B, T, heads, 2 * C / heads});
  s.grads[0] = concat({reshape(by_head * reshape(s.other(), {B, T, heads, 1}), {B, T, 2 * C}), parts[1]}, 2);
}

constexpr const char* kSoftmax = "softmax|soft max|软最大";

}  // namespace

extern const Mutant kSoftmaxDiagonal = {
    .at = "softmax",
    .title = {"A GPT learns, but ends a little above the loss it should reach.",
              "GPT 能学，但最后的损失比应有的高一点。"},
    .right = "dx = y * (dy - sum(dy * y))",
    .wrong = "dx = y * (1 - y) * dy",
    .find = {"Every probability depends on every score, so the Jacobian diag(y) - y y^T is full; the fault "
             "keeps its diagonal alone, as if softmax were a sigmoid of each score. Gradients of queries "
             "and keys keep their sign mostly, so the loss still falls. gradcheck: in the last block "
             "c_attn is wrong in its rows of queries and keys and right in those of values, which do not "
             "pass through the softmax.",
             "每个概率都依赖每个分数，雅可比矩阵 diag(y) - y y^T 是满的；这里只留下对角线，好像 softmax 是"
             "逐元素的 sigmoid。查询和键的梯度大多保持符号，所以损失仍会下降。gradcheck：最后一块的 c_attn "
             "的查询行和键行不对，值那部分的行是对的，因为值不经过 softmax。"},
    .names = kSoftmax,
    .fault = "diagonal|jacobian|off diagonal|cross term|elementwise|1 y|对角|雅可比|交叉|逐元素",
    .backward = diagonal_only,
};

extern const Mutant kSoftmaxNoSum = {
    .at = "softmax",
    .title = {"A GPT's gradient norm rises into the hundreds, and its loss goes up again.",
              "GPT 的梯度范数升到几百，损失又涨回去。"},
    .right = "dx = y * (dy - sum(dy * y))",
    .wrong = "dx = y * dy",
    .find = {"Probabilities add up to 1, so raising all scores together must change nothing: the gradients "
             "of a row add up to 0. Without the sum they do not, and attention is pushed along a direction "
             "that has no effect. gradcheck: queries and keys of c_attn (last block) are wrong. Adding up "
             "dx over a row shows it at once.",
             "概率之和为 1，所有分数一起升高不应有任何变化：一行的梯度之和为 0。少了求和项就不为 0，注意力"
             "被推向没有作用的方向。gradcheck：最后一块的 c_attn 的查询和键不对。把 dx 按行相加，立刻就能看"
             "出。"},
    .names = kSoftmax,
    .fault = "sum|subtract|mean|normalis|normaliz|second term|row|求和|和|减|归一",
    .backward = no_sum,
};

extern const Mutant kSoftmaxAxis = {
    .at = "softmax",
    .title = {"A GPT is better than it should be in training, and worse than it should be when it writes.",
              "GPT 训练时比应有的好，写作时比应有的差。"},
    .right = "y = softmax over the keys (the last axis)",
    .wrong = "y = softmax over the queries (the axis before it)",
    .find = {"The backward pass fits the forward pass, so gradcheck is content. But the weights of a query "
             "no longer add up to 1, and each of them depends on later queries: the test of the future "
             "fails, and a row of weights printed is no distribution.",
             "反向传播与前向一致，gradcheck 没有意见。但一个查询的权重之和不再是 1，而且每个权重都依赖后面"
             "的查询：“未来”测试不通过；把一行权重打印出来，它不是一个分布。"},
    .names = kSoftmax,
    .fault = "axis|dim|axes|quer|column|transpos|轴|维|列|查询",
    .forward = over_queries,
};

extern const Mutant kFactorForgotten = {
    .at = "mul",
    .title = {"A GPT learns as ever, but late in training its gradient norm is half as large again.",
              "GPT 学得和平时一样，但训练后期的梯度范数大了一半。"},
    .right = "y = c x:   dx = c dy",
    .wrong = "dx = dy",
    .find = {"The only number that the graph multiplies with is the 1 / sqrt(D) of the scores, so the "
             "gradients of queries and keys are sqrt(D) times too large: gradcheck shows one and the same "
             "ratio in all of their rows, and a constant ratio is a forgotten factor. Adam forgives it "
             "nearly, because it divides by the gradient's own size.",
             "计算图里只有一处乘以常数：分数的 1 / sqrt(D)。所以查询和键的梯度大了 sqrt(D) 倍：gradcheck 在"
             "这些行里给出同一个比值，而恒定的比值就是漏掉的因子。Adam 几乎不受影响，因为它除以梯度自己的大"
             "小。"},
    .names = "mul|multiplication|scale|scaling|scores|score|attention|product with a number|缩放|分数|注意力",
    .fault = "factor|scale|scaling|sqrt|constant|1 d|因子|缩放|系数|常数|根号",
    .backward = factor_forgotten,
};

extern const Mutant kFusedScaleForgotten = {
    .at = "causal_attention",
    .task = Task::fused,
    .title = {"A GPT in its fast form learns as ever, but late in training its gradient norm is half as "
              "large again.",
              "快速形式的 GPT 学得和平时一样，但训练后期的梯度范数大了一半。"},
    .right = "dq_i = sum_j ds_ij k_j / sqrt(D), dk_j = sum_i ds_ij q_i / sqrt(D)",
    .wrong = "dq_i = sum_j ds_ij k_j, dk_j = sum_i ds_ij q_i",
    .find = {"The fused operation scales the scores itself, and its backward forgot to. gradcheck: in "
             "c_attn of the last block the rows of queries and keys have the ratio sqrt(D), those of "
             "values 1.",
             "融合算子自己缩放分数，反向却忘了。gradcheck：最后一块的 c_attn 里查询和键的行比值是 sqrt(D)，"
             "值的行是 1。"},
    .names = "causal_attention|causal attention|attention|注意力",
    .fault = "factor|scale|scaling|sqrt|constant|1 d|因子|缩放|系数|常数|根号",
    .backward = scale_forgotten,
};

extern const Mutant kKeysForQueries = {
    .at = "causal_attention",
    .task = Task::fused,
    .title = {"A GPT in its fast form ends a little above the loss it should reach.",
              "快速形式的 GPT 最后的损失比应有的高一点。"},
    .right = "dqkv = dq, dk, dv side by side",
    .wrong = "dqkv = dk, dq, dv side by side",
    .find =
        {"Queries and keys have the same shape, so nothing complains when their gradients change places. "
         "gradcheck: rows "
         "of queries and keys of c_attn (last block) are wrong without a common ratio, rows of values right. "
         "Comparing analytic rows "
         "of the one with numeric rows of the other settles it.",
         "查询和键形状相同，梯度互换也不会报错。gradcheck：最后一块的 c_attn "
         "的查询行和键行都不对，没有共同比值，值的行是对的。"
         "把一方的解析梯度与另一方的数值梯度比较，就能确认。"},
    .names = "causal_attention|causal attention|attention|注意力",
    .fault = "swap|exchang|order|mixed up|change place|interchang|互换|交换|顺序|颠倒",
    .backward = keys_for_queries,
};

extern const Mutant kQkNorm = {
    .at = "qk_norm",
    .settings = R"({"qk_norm": true})",
    .title =
        {"A GPT of another make learns nearly as well as ever; gradients are wrong from its attention down.",
         "另一种结构的 GPT 学得几乎一样好；从注意力往下梯度不对。"},
    .right = "dq = (dq' - h * mean(dq' * h)) / rms in every head, dk likewise",
    .wrong = "dq = dq' / rms",
    .find = {"Queries and keys have a fixed length after the norm, so only their direction may get a "
             "gradient; the fault lets a part along them through. gradcheck: rows of queries and keys of "
             "c_attn (last block) are wrong, rows of values right, and softmax, mask and scale are the "
             "same as ever.",
             "归一化后查询和键的长度固定，只有方向应有梯度；这里漏进了沿自身方向的分量。gradcheck：最后一块"
             "的 c_attn 的查询行和键行不对，值的行是对的，而 softmax、掩码和缩放都没变。"},
    .names = "qk_norm|qk norm|qknorm|query key norm|norm|查询键归一化|归一化",
    .fault = "mean|term|projection|constant|length|均值|项|投影|常数|长度",
    .backward = lengths_constant,
};

}  // namespace minigpt::zoo
