// Faults of arithmetic, element by element.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

void subtrahend_sign(const Step& s) {
  if (s.has(1)) s.grads[1] = s.dy;
}

void same_factor_twice(const Step& s) {
  if (s.grads.size() == 2 && s.has(1) && s.shape(0) == s.shape(1)) s.grads[1] = s.dy * s.input(1);
}

// x * x reaches x by two edges.
void one_way_of_two(const Step& s) {
  if (s.grads.size() != 2 || !s.has(0) || !s.has(1)) return;
  const Edge &a = s.node.inputs[0], &b = s.node.inputs[1];
  if (a.node.get() == b.node.get() && a.leaf.get() == b.leaf.get()) s.grads[1] = Variable();
}

void denominator_once(const Step& s) {
  if (s.grads.size() == 2 && s.has(1)) s.grads[1] = -s.dy * s.output();
}

void exponent_not_lowered(const Step& s) { s.grads[0] = s.grads[0] * s.input(0); }

void input_for_output(const Step& s) { s.grads[0] = s.dy * log(s.output()); }

void output_for_input(const Step& s) { s.grads[0] = s.dy / log(s.input(0)); }

void two_forgotten(const Step& s) { s.grads[0] = s.grads[0] * 2.0; }

constexpr const char* kMul = "mul|multiplication|product|square|乘法|乘积|平方";

}  // namespace

extern const Mutant kSubSign = {
    .at = "sub",
    .task = Task::net,
    .title =
        {"A classifier's gradients are too small and wrong everywhere; it learns slowly and ends in NaN.",
         "分类器的梯度太小，而且到处都不对；学得慢，最后变成 NaN。"},
    .right = "y = a - b:   da = dy, db = -dy",
    .wrong = "da = dy, db = dy",
    .find = {"Copied from addition. gradcheck: everything that reaches a difference from its right side is "
             "wrong; what passes both sides (a row minus its mean) is off by a part, without a common "
             "ratio.",
             "从加法复制过来的。gradcheck：从减号右边进入的都不对；两边都经过的（一行减去自己的均值）只差一"
             "部分，没有共同比值。"},
    .names = "sub|subtraction|difference|minus|减法",
    .fault = "sign|minus|negat|second|right|db|符号|负|第二|右",
    .backward = subtrahend_sign,
};

extern const Mutant kMulSameFactor = {
    .at = "mul",
    .task = Task::net,
    .title = {"A classifier falls slightly behind; its gate and its gain learn the wrong thing.",
              "分类器略微落后；它的门和增益学错了东西。"},
    .right = "y = a * b:   da = dy * b, db = dy * a",
    .wrong = "da = dy * b, db = dy * b",
    .find = {"A slip of the keyboard. A gradient test with a * a, or with equal numbers, does not see it. "
             "gradcheck: parameters behind the right factor of a product are wrong, those behind the left "
             "one right.",
             "笔误。用 a * a 或相等的数做梯度测试看不出来。gradcheck：乘积右因子后面的参数不对，左因子后面"
             "的对。"},
    .names = kMul,
    .fault = "db|second|right|same|swap|other factor|wrong factor|b instead|第二|右|相同|另一个",
    .backward = same_factor_twice,
};

extern const Mutant kSquare = {
    .at = "mul",
    .task = Task::net,
    .title = {"A classifier learns as ever; its read-out is held back less than it should be.",
              "分类器学得和平时一样；对输出层的约束比应有的弱。"},
    .right = "y = x * x reaches x twice:   dx = dy * x + dy * x = 2 x dy",
    .wrong = "dx = dy * x",
    .find = {"The same value on both sides, and only one of the two edges delivers: the 2 of the square is "
             "missing. gradcheck: the ratio is 1/2 wherever a square is the only way.",
             "同一个值在两边，两条边只有一条送到：平方的 2 丢了。gradcheck：只经过平方的地方比值是 1/2。"},
    .names = kMul,
    .fault = "2|two|twice|half|edge|square|one of|accumul|二|两|一半|平方|累加",
    .backward = one_way_of_two,
};

extern const Mutant kDivDenominator = {
    .at = "div",
    .task = Task::net,
    .title = {"A classifier is slightly slower; everything in it is wrong, in both directions.",
              "分类器略慢；里面的梯度全都不对，有大有小。"},
    .right = "y = a / b:   da = dy / b, db = -(dy / b) * y",
    .wrong = "db = -dy * y",
    .find = {"The denominator divides twice in db = -dy a / b^2, and once was forgotten. gradcheck: what "
             "leads to denominators is wrong (here: the deviation of a normalisation, the sum of a "
             "softmax), numerators right.",
             "db = -dy a / b^2 里分母要除两次，少了一次。gradcheck：通向分母的不对（这里是归一化的标准差、"
             "softmax 的和），分子是对的。"},
    .names = "div|division|quotient|ratio|除法",
    .fault = "denominator|b 2|squar|db|second|divid|1 b|分母|平方|第二|除",
    .backward = denominator_once,
};

extern const Mutant kPowExponent = {
    .at = "pow",
    .task = Task::net,
    .title =
        {"A classifier learns as ever; one group of its features has gradients that are some per cent off.",
         "分类器学得和平时一样；有一组特征的梯度差了百分之几。"},
    .right = "y = x^p:   dx = dy * p x^(p - 1)",
    .wrong = "dx = dy * p x^p",
    .find =
        {"The exponent was not lowered. At x = 1 nobody notices. gradcheck: what leads to the power is "
         "wrong, and its ratio is "
         "x itself, another one for every element.",
         "指数没有减一。x = 1 时谁也看不出。gradcheck：通向幂的参数不对，比值就是 x 本身，每个元素都不同。"},
    .names = "pow|power|幂|乘方|次方",
    .fault = "expon|p 1|minus 1|minus one|lower|x p|指数|减一|次",
    .backward = exponent_not_lowered,
};

extern const Mutant kExpInput = {
    .at = "exp",
    .task = Task::net,
    .title = {"A classifier's loss rises from the start; after some dozens of steps it is no number.",
              "分类器的损失一开始就上升；几十步后不再是数。"},
    .right = "y = e^x:   dx = dy * y",
    .wrong = "dx = dy * x",
    .find = {"The input was saved where the output is needed. gradcheck: everything that leads to the "
             "exponential is wrong, even in its sign where x < 0.",
             "该用输出的地方用了输入。gradcheck：通向指数函数的都不对，x < 0 处连符号都反。"},
    .names = "exp|exponential|指数",
    .fault = "input|output|x instead|x in place|y instead|wrong value|saved|输入|输出",
    .backward = input_for_output,
};

extern const Mutant kLogOutput = {
    .at = "log",
    .task = Task::net,
    .title = {"A classifier is slower than it should be, with smaller gradients, and every parameter is "
              "concerned.",
              "分类器比应有的慢，梯度更小，所有参数都受影响。"},
    .right = "y = ln x:   dx = dy / x",
    .wrong = "dx = dy / y = dy / ln x",
    .find = {"The output was saved where the input is needed. gradients are huge near x = 1, where y is 0. "
             "gradcheck: everything that leads to the logarithm is wrong.",
             "该用输入的地方用了输出。x 接近 1 时 y 接近 0，梯度巨大。gradcheck：通向对数的都不对。"},
    .names = "log|logarithm|对数",
    .fault = "input|output|y instead|y in place|x instead|wrong value|saved|输入|输出",
    .backward = output_for_input,
};

extern const Mutant kSqrtTwo = {
    .at = "sqrt",
    .task = Task::net,
    .title =
        {"A classifier learns as ever; what feeds its normalisation has gradients that are off, on one side.",
         "分类器学得和平时一样；通向归一化的梯度偏向一边。"},
    .right = "y = sqrt(x):   dx = dy / (2 y)",
    .wrong = "dx = dy / y",
    .find = {"A factor of 2. Training does not mind. gradcheck: what leads to the root is wrong; where "
             "that is the only way, the ratio is 2.",
             "差一个因子 2，训练不在乎。gradcheck：通向平方根的不对；只有这一条路时比值是 2。"},
    .names = "sqrt|square root|root|平方根|根号|开方",
    .fault = "2|two|factor|half|twice|二|因子|一半|系数",
    .backward = two_forgotten,
};

}  // namespace minigpt::zoo
