// Faults of the loss.

#include "tensor/compare.h"
#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

// The parts of dx = (p - onehot) * dloss of cross_entropy, rows by classes, of which the node kept the inputs.
struct Parts {
  Variable p, onehot;  // onehot is empty in ignored rows
  Variable scale;      // dloss of each row, (N, 1); 0 for ignored rows
};
Parts parts_of(const Step& s) {
  const Variable p = softmax(s.input(0));
  const std::int64_t N = p.dim(0), V = p.dim(1);
  const Tensor targets = Saved(s.node).other(0);
  std::vector<double> hot(static_cast<std::size_t>(N * V));
  for (std::int64_t i = 0; i < N; ++i) {
    const auto target = static_cast<std::int64_t>(targets.at({i}));
    if (target >= 0 && target < V) hot[static_cast<std::size_t>(i * V + target)] = 1;
  }
  // dx is a multiple of p - onehot: the projection on it tells which.
  const Variable onehot(Tensor::from<double>(hot, {N, V}).to(p.dtype())), slope = p - onehot;
  const Variable sizes = sum(slope * slope, {1}, true) + 1e-30;
  return {p, onehot, sum(s.grads[0] * slope, {1}, true) / sizes};
}

void target_not_subtracted(const Step& s) {
  const Parts f = parts_of(s);
  s.grads[0] = f.p * f.scale;
}

void rows_not_counted(const Step& s) {
  if (s.dy.rank() == 0) s.grads[0] = s.grads[0] * static_cast<double>(s.shape(0)[0]);
}

void wrong_direction(const Step& s) { s.grads[0] = -s.grads[0]; }

// Ignored rows are treated as if their class were 0.
void ignored_rows_learn(const Step& s) {
  const Parts f = parts_of(s);
  if (f.scale.numel() == 0) return;
  Tensor first = zeros(f.p.shape(), f.p.dtype());
  slice(first, 1, 0, 1).copy_(ones({f.p.dim(0), 1}, f.p.dtype()));
  const Tensor ignored = eq(sum(f.onehot.value(), {1}, true), 0.0);
  s.grads[0] = where(ignored, (f.p - Variable(first)) * amax(f.scale), s.grads[0]);
}

void exponential_forgotten(const Step& s) { s.grads[0] = s.dy - s.output() * sum(s.dy, {-1}, true); }

constexpr const char* kCrossEntropy = "cross_entropy|cross entropy|crossentropy|loss|交叉熵|损失";

}  // namespace

extern const Mutant kLossNoTarget = {
    .at = "cross_entropy",
    .title = {"A GPT's loss stays at that of guessing, and its gradient norm grows.",
              "GPT 的损失停在瞎猜的水平，梯度范数不断变大。"},
    .right = "dx = (softmax(x) - onehot(target)) / N",
    .wrong = "dx = softmax(x) / N",
    .find = {"Nothing in the gradient says which class was right: all logits are pushed down, whatever the "
             "text. gradcheck: every parameter is wrong, the last ones included, so the fault lies in the "
             "loss itself. The gradient of a row should add up to 0; here it adds up to 1 / N.",
             "梯度里没有任何东西说明哪个类别是对的：不管文本是什么，所有 logits 都往下压。gradcheck：所有参"
             "数都不对，包括最后的，所以错误就在损失里。一行的梯度之和应为 0，这里却是 1 / N。"},
    .names = kCrossEntropy,
    .fault = "onehot|one hot|target|subtract|minus 1|minus one|label|独热|目标|减|标签",
    .backward = target_not_subtracted,
};

extern const Mutant kLossNotAveraged = {
    .at = "cross_entropy",
    .title = {"A GPT learns as ever, with a gradient norm in the hundreds.",
              "GPT 学得和平时一样，梯度范数却是几百。"},
    .right = "dx = (softmax(x) - onehot(target)) / N",
    .wrong = "dx = softmax(x) - onehot(target)",
    .find = {"The loss is a mean, its gradient a sum: everything is N times too large. With gradient "
             "clipping and Adam one hardly sees it in the loss, but the gradient norm is in the hundreds. "
             "gradcheck: one ratio for every parameter, the number of predictions in the batch.",
             "损失是平均值，梯度却是总和：全都大了 N 倍。有梯度裁剪和 Adam 时，损失上几乎看不出，但梯度范数"
             "是几百。gradcheck：所有参数同一个比值，即批次里预测的个数。"},
    .names = kCrossEntropy,
    .fault = "1 n|mean|averag|divid|factor|number of|batch size|sum|平均|均值|除以|因子|求和",
    .backward = rows_not_counted,
};

extern const Mutant kLossSign = {
    .at = "cross_entropy",
    .title = {"A GPT's loss rises without end.", "GPT 的损失不停地上升。"},
    .right = "dx = (softmax(x) - onehot(target)) / N",
    .wrong = "dx = (onehot(target) - softmax(x)) / N",
    .find = {"Descent on the wrong side of the hill: the loss rises from the first step. gradcheck: the "
             "ratio is -1 for every parameter.",
             "方向反了：损失从第一步起就上升。gradcheck：所有参数的比值都是 -1。"},
    .names = kCrossEntropy,
    .fault = "sign|minus|negat|direction|ascent|revers|符号|负|反|方向",
    .backward = wrong_direction,
};

extern const Mutant kLossIgnored = {
    .at = "cross_entropy",
    .task = Task::net,
    .title = {"A classifier ends far above the loss it should reach; with a class for every row it would "
              "learn as ever.",
              "分类器最后的损失比应有的高很多；如果每一行都有类别，就和平时一样。"},
    .right = "rows whose target is ignore_index: dx = 0",
    .wrong = "rows whose target is ignore_index: dx = that of class 0",
    .find = {"Rows without a target count in the gradient though not in the loss: the model learns class 0 "
             "for them. gradcheck: every parameter is wrong, without a common ratio, and right as soon as "
             "the batch holds no row to ignore.",
             "没有目标的行不计入损失，却计入了梯度：模型把它们当成类别 0 来学。gradcheck：所有参数都不对，"
             "没有共同比值；批次里没有要忽略的行时就全对。"},
    .names = kCrossEntropy,
    .fault = "ignor|padding|mask|忽略|填充|掩码",
    .backward = ignored_rows_learn,
};

extern const Mutant kLogSoftmax = {
    .at = "log_softmax",
    .task = Task::net,
    .title = {"A classifier's loss is no number after some fifty steps; every parameter is concerned.",
              "分类器的损失五十来步后不再是数；所有参数都受影响。"},
    .right = "dx = dy - exp(y) * sum(dy)",
    .wrong = "dx = dy - y * sum(dy)",
    .find = {"y holds logarithms, and the formula wants probabilities. gradcheck: every parameter is "
             "wrong, for nothing lies behind this operation; the gradient of a row no longer adds up to 0.",
             "y 是对数，公式要的是概率。gradcheck：所有参数都不对，因为这个运算之后没有参数；一行的梯度之和"
             "不再是 0。"},
    .names = "log_softmax|log softmax|logsoftmax|对数 softmax|对数软最大",
    .fault = "exp|probabilit|y instead|y in place|output|指数|概率",
    .backward = exponential_forgotten,
};

}  // namespace minigpt::zoo
