// Faults of activation functions and of dropout.

#include <cmath>
#include <numbers>

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

void other_formula(const Step& s) {
  const Variable x = s.input(0);
  const double c = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Variable t = tanh((x + x * x * x * 0.044715) * c);
  const Variable slope = (t + 1.0) * 0.5 + x * (1.0 - t * t) * ((x * x * 0.134145 + 1.0) * (0.5 * c));
  s.grads[0] = s.dy * slope;
}

void probability_alone(const Step& s) {
  s.grads[0] = s.dy * ((erf(s.input(0) * (1 / std::numbers::sqrt2)) + 1.0) * 0.5);
}

void leaks(const Step& s) { s.grads[0] = s.dy; }

void gate_alone(const Step& s) { s.grads[0] = s.dy * sigmoid(s.input(0)); }

void not_squared(const Step& s) { s.grads[0] = s.dy * (1.0 - s.output()); }

void logit_for_output(const Step& s) {
  const Variable y = s.output(), x = log(y / (1.0 - y));
  s.grads[0] = s.dy * x * (1.0 - x);
}

// 1 / (1 - p), seen from the elements that were kept.
double scale_of(const Step& s) {
  double kept = 0, given = 0;
  const Tensor g = s.grads[0].value().to(DType::f64).contiguous(),
               dy = s.dy.value().to(DType::f64).contiguous();
  for (std::int64_t i = 0; i < g.numel(); ++i) {
    const double value = g.data<double>()[i];
    if (value == 0) continue;
    kept += std::fabs(value);
    given += std::fabs(dy.data<double>()[i]);
  }
  return given > 0 ? kept / given : 1;
}

void mask_not_applied(const Step& s) { s.grads[0] = s.dy * scale_of(s); }

void not_scaled(const Step& s) { s.grads[0] = s.grads[0] / scale_of(s); }

constexpr const char* kGelu = "gelu|activation|激活";
constexpr const char* kDropout = "dropout|drop out|丢弃|随机失活";

}  // namespace

extern const Mutant kGeluOtherFormula = {
    .at = "gelu",
    .title = {"A GPT learns exactly as ever. A strict check still finds something.",
              "GPT 学得和平时完全一样。严格的检查还是能发现问题。"},
    .right = "y = x P(x) with the exact P:   dx = dy * (P + x p)",
    .wrong = "dx = dy * the slope of the tanh approximation",
    .find = {"Forward exact, backward approximate: the two functions differ by 5e-4, their slopes by "
             "little more. No loss curve will ever show it. gradcheck in float64 does: everything before "
             "the activation differs in the third or fourth digit, with ratios close to 1.",
             "前向用精确式，反向用近似式：两个函数相差 5e-4，斜率也差不多。任何损失曲线都看不出来。float64 "
             "的 gradcheck 看得出：激活函数之前的参数在第三、四位数字上不同，比值接近 1。"},
    .names = kGelu,
    .fault = "tanh|approx|formula|erf|exact|mismatch|近似|公式|精确|不一致",
    .backward = other_formula,
};

extern const Mutant kGeluProduct = {
    .at = "gelu",
    .title = {"A GPT learns as ever, with gradients that are wrong from the feed-forward part down.",
              "GPT 学得和平时一样；从前馈部分往下梯度不对。"},
    .right = "y = x P(x):   dx = dy * (P + x p)",
    .wrong = "dx = dy * P",
    .find = {"The product rule has two terms, and x was treated as the only factor that varies. gradcheck: "
             "c_proj of the mlp is right, c_fc and everything before it wrong, by another ratio for every "
             "element.",
             "乘积法则有两项，这里只让 x 变化。gradcheck：mlp 的 c_proj 对，c_fc 和它之前的都不对，每个元素"
             "比值不同。"},
    .names = kGelu,
    .fault = "product|second term|density|x p|term|pdf|乘积|第二项|密度|项",
    .backward = probability_alone,
};

extern const Mutant kReluLeaks = {
    .at = "relu",
    .settings = R"({"activation": "relu"})",
    .title = {"A GPT of another make is a third of a nat behind, with a gradient norm of ten.",
              "另一种结构的 GPT 落后三分之一 nat，梯度范数是十。"},
    .right = "dx = dy where x > 0, else 0",
    .wrong = "dx = dy",
    .find = {"The gradient passes where the value did not (a \"straight-through\" estimate, without "
             "wanting one). Training works nearly as well. gradcheck: before the activation, elements are "
             "wrong wherever a unit was off: analytic is not 0, numeric is.",
             "值没有通过的地方梯度却通过了。训练几乎一样好。gradcheck：激活之前，凡是单元关闭的地方都不对："
             "解析不为 0，数值为 0。"},
    .names = "relu|rectifier|activation|整流|激活",
    .fault = "leak|negative|x 0|pass|mask|zero|all|straight|off|负|泄漏|通过|小于",
    .backward = leaks,
};

extern const Mutant kSiluProduct = {
    .at = "silu",
    .settings = R"({"activation": "silu"})",
    .title = {"A GPT of another make learns as ever, with gradients that are wrong from the feed-forward "
              "part down.",
              "另一种结构的 GPT 学得和平时一样；从前馈部分往下梯度不对。"},
    .right = "y = x s, s = sigmoid(x):   dx = dy * s (1 + x (1 - s))",
    .wrong = "dx = dy * s",
    .find = {"The gate depends on x too; the product rule's second term is missing. gradcheck: c_proj of "
             "the mlp is right, c_fc and everything before it wrong, by another ratio for every element.",
             "门也依赖 x；乘积法则的第二项丢了。gradcheck：mlp 的 c_proj 对，c_fc 和之前的都不对，每个元素"
             "比值不同。"},
    .names = "silu|swish|activation|激活",
    .fault = "product|second term|gate|term|1 s|sigmoid|乘积|第二项|门|项",
    .backward = gate_alone,
};

extern const Mutant kTanhSquare = {
    .at = "tanh",
    .task = Task::net,
    .title = {"A classifier learns as ever; its first layer has the wrong gradient, the layer beside it "
              "the right one.",
              "分类器学得和平时一样；第一层梯度不对，旁边那层是对的。"},
    .right = "y = tanh(x):   dx = dy * (1 - y^2)",
    .wrong = "dx = dy * (1 - y)",
    .find = {"Never negative, about right near 0, and far too large for x < 0, where it should vanish. "
             "gradcheck: what leads to tanh is wrong, with ratios 1 / (1 + y).",
             "从不为负，0 附近大致对，x < 0 时本应趋于 0 却很大。gradcheck：通向 tanh 的都不对，比值是 1 / "
             "(1 + y)。"},
    .names = "tanh|hyperbolic tangent|双曲正切",
    .fault = "squar|y 2|2|1 y|平方|二次",
    .backward = not_squared,
};

extern const Mutant kSigmoidInput = {
    .at = "sigmoid",
    .task = Task::net,
    .title = {"A classifier learns badly and then blows up; two of its tensors are to blame.",
              "分类器学得很差，然后发散；问题出在它的两个张量上。"},
    .right = "y = sigmoid(x):   dx = dy * y (1 - y)",
    .wrong = "dx = dy * x (1 - x)",
    .find = {"The formula is written for the output and was given the input. gradcheck: what leads to the "
             "gate is wrong, often in its sign.",
             "公式是对输出写的，却代入了输入。gradcheck：通向门的都不对，常常连符号都不对。"},
    .names = "sigmoid|logistic|gate",
    .fault = "input|output|x instead|x in place|y instead|输入|输出",
    .backward = logit_for_output,
};

extern const Mutant kDropoutMask = {
    .at = "dropout",
    .settings = R"({"dropout": 0.2})",
    .title = {"A regularised GPT learns far too slowly: it is half a nat behind.",
              "带正则化的 GPT 学得太慢：落后半个 nat。"},
    .right = "dx = dy * keep / (1 - p)",
    .wrong = "dx = dy / (1 - p)",
    .find = {"Dropped elements had no influence, so they must get no gradient. Evaluation never shows it, "
             "for it has no dropout. gradcheck with a fixed mask: what leads to dropped elements is wrong, "
             "analytic not 0 where numeric is.",
             "被丢弃的元素没有影响，不该有梯度。评估时没有 dropout，永远看不出。固定掩码的 gradcheck：通向"
             "被丢元素的都不对，数值为 0 处解析不为 0。"},
    .names = kDropout,
    .fault = "mask|keep|dropped|掩码|保留|丢弃的",
    .backward = mask_not_applied,
};

extern const Mutant kDropoutScale = {
    .at = "dropout",
    .settings = R"({"dropout": 0.2})",
    .title = {"A regularised GPT learns as ever, with a gradient norm a fifth too small.",
              "带正则化的 GPT 学得和平时一样，梯度范数却小了五分之一。"},
    .right = "dx = dy * keep / (1 - p)",
    .wrong = "dx = dy * keep",
    .find = {"The forward pass scales kept elements by 1 / (1 - p), the backward pass does not. Each "
             "dropout on the way makes the gradient smaller by 0.8. gradcheck with a fixed mask: ratios of "
             "0.8 to a power, the higher, the earlier the parameter.",
             "前向把保留的元素乘以 1 / (1 - p)，反向没有乘。路上每个 dropout 都让梯度缩小到 0.8 倍。固定掩"
             "码的 gradcheck：比值是 0.8 的幂，参数越靠前次数越高。"},
    .names = kDropout,
    .fault = "scale|scaling|1 p|factor|缩放|因子|系数",
    .backward = not_scaled,
};

}  // namespace minigpt::zoo
