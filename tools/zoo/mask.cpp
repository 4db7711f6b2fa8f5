// Faults of masks. Most of them are wrong in the forward pass: the gradients then fit a function that is the wrong one.

#include <limits>
#include <utility>

#include "tensor/compare.h"
#include "tensor/triangle.h"
#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Where a mask has put -inf; undefined if this is no mask of attention scores.
Tensor hidden_of(const Call& call) {
  const Tensor& y = call.y.value();
  if (call.op != "masked_fill" || y.rank() < 2 || y.dim(-1) != y.dim(-2) || y.numel() == 0) return Tensor();
  const Tensor hidden = eq(y, kHidden);
  return sum(hidden.to(DType::f64)).item() > 0 ? hidden : Tensor();
}

Variable mask_after_softmax(const Call& call) {
  if (const Tensor hidden = hidden_of(call); hidden.defined()) {
    call.memory = hidden;
    return alias(call.inputs[0]);
  }
  if (call.op != "softmax" || !call.memory.defined() || !(call.memory.shape() == call.y.shape()))
    return call.y;
  return masked_fill(call.y, std::exchange(call.memory, Tensor()), 0);
}

// Query t sees keys 0..t + ahead.
Variable masked_from(const Call& call, std::int64_t ahead) {
  if (!hidden_of(call).defined()) return call.y;
  const std::int64_t T = call.y.dim(-1);
  return masked_fill(call.inputs[0], logical_not(tril_mask(T, T, ahead)), kHidden);
}
Variable sees_next(const Call& call) { return masked_from(call, 1); }
Variable blind_to_itself(const Call& call) { return masked_from(call, -1); }

Variable turned_over(const Call& call) {
  if (!hidden_of(call).defined()) return call.y;
  const std::int64_t T = call.y.dim(-1);
  return masked_fill(call.inputs[0], tril_mask(T, T, -1), kHidden);
}

Variable too_weak(const Call& call) {
  const Tensor hidden = hidden_of(call);
  return hidden.defined() ? masked_fill(call.inputs[0], hidden, -1) : call.y;
}

void mask_forgotten(const Step& s) { s.grads[0] = s.dy; }

constexpr const char* kMask =
    "masked_fill|masked fill|mask|causal mask|causal attention|attention|掩码|遮罩|注意力";

}  // namespace

extern const Mutant kMaskAfterSoftmax = {
    .at = "masked_fill softmax",
    .title = {"A GPT has the usual loss in training, and a worse one when it writes.",
              "GPT 训练时损失正常，写作时更差。"},
    .right = "weights = softmax(masked_fill(scores, future, -inf))",
    .wrong = "weights = masked_fill(softmax(scores), future, 0)",
    .find =
        {"Weights of the future are 0, yet the sum that the others are divided by still contains it: rows do "
         "not add up "
         "to 1, and the early positions see nearly nothing. gradcheck is content, for the backward fits. The "
         "test of the "
         "future fails, since later scores enter through that sum; a printed row of weights shows it too.",
         "未来的权重是 0，但其余权重的分母仍然包含未来：一行之和不为 "
         "1，靠前的位置几乎什么也看不到。gradcheck "
         "没有意见，因为反向与前向一致。“未来”测试不通过，因为后面的分数通过分母影响前面；打印一行权重也能看"
         "出。"},
    .names = kMask,
    .fault =
        "after softmax|after the softmax|behind the softmax|before softmax|before the "
        "softmax|order|renormal|not add up|sum to 1|add up to 1|之后|以后|后面|顺序|归一",
    .forward = mask_after_softmax,
};

extern const Mutant kSeesNext = {
    .at = "masked_fill",
    .title = {"A GPT is far too good to be true within a hundred steps, and writes rubbish.",
              "GPT 一百步内就好得不可信，写出来却是乱码。"},
    .right = "hidden where key > query",
    .wrong = "hidden where key > query + 1",
    .find = {"Off by one: each position sees the character it is asked to predict. The loss falls far "
             "below what is possible, on validation text too, and samples are garbage, because there the "
             "next character is not there to be copied. gradcheck is content. The test of the future "
             "fails, by exactly one position.",
             "差一错误：每个位置都看得到它要预测的字符。损失低得不可能，验证集也一样；而采样出来是乱码，因"
             "为那时下一个字符还不存在。gradcheck 没有意见。“未来”测试不通过，恰好差一个位置。"},
    .names = kMask,
    .fault =
        "off by one|by one|future|next|one too far|peek|look ahead|diagonal|leak|差一|未来|下一个|偷看|泄"
        "漏|对角",
    .forward = sees_next,
};

extern const Mutant kBlindToItself = {
    .at = "masked_fill",
    .title = {"A GPT learns as ever, all its gradients are right, and it does not look ahead. Its "
              "attention looks odd.",
              "GPT 学得和平时一样，梯度全对，也不看未来。它的注意力看起来有点怪。"},
    .right = "hidden where key > query",
    .wrong = "hidden where key >= query",
    .find = {"Off by one the other way: a position does not see itself, and the first one sees nothing at "
             "all (PyTorch would give NaN there, this softmax zeros). Only the residual path tells a "
             "position its own character. Nothing leaks, gradcheck is content: a printed row of weights "
             "has zeros on its diagonal.",
             "另一个方向的差一：位置看不到自己，第一个位置什么也看不到（PyTorch 会得到 NaN，这里的 softmax "
             "给出 0）。只有残差通路把字符本身告诉该位置。没有泄漏，gradcheck 没有意见：打印权重，对角线上"
             "是 0。"},
    .names = kMask,
    .fault = "off by one|by one|diagonal|itself|own position|self|差一|对角|自己|自身",
    .forward = blind_to_itself,
};

extern const Mutant kMaskTurnedOver = {
    .at = "masked_fill",
    .title = {"A GPT is far too good to be true after three hundred steps, and writes rubbish.",
              "GPT 三百步后好得不可信，写出来却是乱码。"},
    .right = "hidden where key > query (the future)",
    .wrong = "hidden where key < query (the past)",
    .find = {"The condition is upside down, as happens where one library's true means \"may look\" and "
             "another's \"hidden\". The model sees itself and all that follows, so the loss is near 0 "
             "after some hundred steps, and samples are garbage. The test of the future fails at every "
             "position.",
             "条件反了：有的库里 true 表示“可以看”，有的表示“遮住”。模型看到自己和后面的一切，几百步后损失"
             "接近 0，采样却是乱码。“未来”测试在每个位置都不通过。"},
    .names = kMask,
    .fault =
        "sign|invert|upside|wrong way|revers|past|flip|opposite|turned|future|triangle|反|过去|颠倒|未来|"
        "三角",
    .forward = turned_over,
};

extern const Mutant kWeakMask = {
    .at = "masked_fill",
    .title =
        {"A GPT is better than it should be, by a tenth of a nat or two, and loses it all when it writes.",
         "GPT 比应有的好一两成 nat，一到写作就全部失去。"},
    .right = "hidden scores = -inf",
    .wrong = "hidden scores = -1",
    .find = {"exp(-1) is not 0: the future keeps about a third of a weight. The loss is a little too good, "
             "and grows better as the model learns to use the leak. gradcheck is content; the test of the "
             "future fails.",
             "exp(-1) 不是 0：未来还留有大约三分之一的权重。损失好得有点过分，模型学会利用泄漏后会更好。"
             "gradcheck 没有意见；“未来”测试不通过。"},
    .names = kMask,
    .fault = "inf|finite|too small|too weak|value|constant|leak|future|weak|无穷|太小|太弱|数值|泄漏|未来",
    .forward = too_weak,
};

extern const Mutant kMaskForgotten = {
    .at = "masked_fill",
    .task = Task::net,
    .title = {"A classifier learns as ever; some of its features get a gradient that they should not have.",
              "分类器学得和平时一样；有些特征得到了不该有的梯度。"},
    .right = "dx = 0 where mask, else dy",
    .wrong = "dx = dy",
    .find = {"What a mask overwrites has no influence, so its gradient is 0. In front of a softmax the "
             "fault is invisible, since softmax gives hidden scores a gradient of 0 anyway; where a mask "
             "fills in numbers, gradcheck finds it in the parameters that lead to masked elements: "
             "analytic is not 0, numeric is.",
             "被掩码覆盖的元素没有影响，梯度是 0。在 softmax 前面这个错误看不出来，因为 softmax 反正给被遮"
             "住的分数 0 梯度；在用掩码填数的地方，gradcheck 能从通向被遮元素的参数上发现：解析值不为 0，数"
             "值梯度为 0。"},
    .names = "masked_fill|masked fill|mask|掩码|遮罩",
    .fault = "forg|ignor|missing|drop|not applied|pass|leak|without|忘|漏|没有|缺|忽略",
    .backward = mask_forgotten,
};

}  // namespace minigpt::zoo
