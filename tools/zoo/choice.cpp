// Faults of functions that choose: by sign, by size, by a condition; and of the cosine.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

void cosine_sign(const Step& s) { s.grads[0] = -s.grads[0]; }

void sign_forgotten(const Step& s) { s.grads[0] = s.dy; }

void smaller_gets_it(const Step& s) {
  const Tensor a = s.input(0).value(), b = s.input(1).value();
  if (s.has(0)) s.grads[0] = masked_fill(s.dy, gt(a, b), 0);
  if (s.has(1)) s.grads[1] = masked_fill(s.dy, lt(a, b), 0);
}

void branches_exchanged(const Step& s) {
  const Tensor chosen = Saved(s.node).other();
  if (s.has(0)) s.grads[0] = masked_fill(s.dy, chosen, 0);
  if (s.has(1)) s.grads[1] = masked_fill(s.dy, logical_not(chosen), 0);
}

// dy with the reduced axes as extents of 1, if it was one axis or all.
Shape kept_shape(const Shape& x, const Variable& dy) {
  Shape kept = x;
  if (dy.rank() == x.size()) return dy.shape();
  if (dy.rank() == 0)
    for (auto& extent : kept) extent = 1;
  for (int axis = 0; dy.rank() == x.size() - 1 && axis < x.size(); ++axis) {
    Shape without = x;
    without.erase(axis);
    if (without == dy.shape()) kept[axis] = 1;
  }
  return kept;
}

void everyone_gets_it(const Step& s) {
  const Shape kept = kept_shape(s.shape(0), s.dy);
  if (numel(kept) == s.dy.numel()) s.grads[0] = expand(reshape(s.dy, kept), s.shape(0));
}

}  // namespace

extern const Mutant kCosSign = {
    .at = "cos",
    .task = Task::net,
    .title = {"A classifier is a little slower; one of its features learns to do the opposite.",
              "分类器慢一点；它的一个特征学着做相反的事。"},
    .right = "y = cos(x):   dx = -dy * sin(x)",
    .wrong = "dx = dy * sin(x)",
    .find = {"Copied from the sine. gradcheck: what leads to the cosine has the ratio -1.",
             "从正弦复制过来的。gradcheck：通向余弦的参数比值是 -1。"},
    .names = "cos|cosine|余弦",
    .fault = "sign|minus|negat|符号|负",
    .backward = cosine_sign,
};

extern const Mutant kAbsSign = {
    .at = "abs",
    .task = Task::net,
    .title = {"A classifier is slightly slower; a comparison of two of its features teaches both only half "
              "of the time.",
              "分类器略慢；两个特征的比较只在一半情况下教对了它们。"},
    .right = "y = |x|:   dx = dy * sign(x)",
    .wrong = "dx = dy",
    .find = {"Right for x > 0, the wrong sign for x < 0. gradcheck: elements of what leads to it are wrong "
             "or right by the sign that they have.",
             "x > 0 时对，x < 0 时符号反。gradcheck：通向它的元素对不对，取决于它们的正负。"},
    .names = "abs|absolute value|absolute|绝对值",
    .fault = "sign|negat|minus|x 0|符号|负",
    .backward = sign_forgotten,
};

extern const Mutant kMaximum = {
    .at = "maximum",
    .task = Task::net,
    .title = {"A classifier starts slowly and arrives late; two features seem to mistake each other's "
              "lessons for their own.",
              "分类器起步慢、到得晚；两个特征好像把对方的功课当成了自己的。"},
    .right = "y = max(a, b):   dy goes to the larger one",
    .wrong = "dy goes to the smaller one",
    .find = {"The comparison is upside down: the value that was not chosen learns. gradcheck: analytic 0 "
             "where numeric is not, and the other way round.",
             "比较反了：没被选中的值在学。gradcheck：数值不为 0 的地方解析为 0，反之亦然。"},
    .names = "maximum|max|最大|较大",
    .fault = "small|compar|swap|exchang|wrong one|loser|invert|revers|较小|比较|交换|互换|反",
    .backward = smaller_gets_it,
};

extern const Mutant kWhere = {
    .at = "where",
    .task = Task::net,
    .title = {"A classifier lies far behind for a hundred steps and catches up late.",
              "分类器前一百步远远落后，很晚才赶上来。"},
    .right = "y = a where condition, else b:   da = dy where condition, db = dy elsewhere",
    .wrong = "da = dy elsewhere, db = dy where condition",
    .find = {"The branches changed places. gradcheck: both operands are wrong, analytic 0 where numeric is "
             "not; added together they would be right.",
             "两个分支换了位置。gradcheck：两个操作数都不对，数值不为 0 的地方解析为 0；加在一起却是对的。"},
    .names = "where|condition|select|条件|选择",
    .fault = "swap|exchang|branch|invert|condition|revers|other|互换|交换|分支|条件|反",
    .backward = branches_exchanged,
};

extern const Mutant kMaxEveryone = {
    .at = "amax max",
    .task = Task::net,
    .title = {"A classifier learns as ever, with a gradient norm slightly too large.",
              "分类器学得和平时一样，梯度范数略大。"},
    .right = "dx = dy at the largest element, else 0",
    .wrong = "dx = dy at every element",
    .find = {"Elements that lost had no influence, and learn all the same. gradcheck: what leads to the "
             "maximum is wrong, analytic not 0 where numeric is.",
             "没被选中的元素没有影响，却照样在学。gradcheck：通向最大值的都不对，数值为 0 处解析不为 0。"},
    .names = "max|amax|maximum|max pooling|pooling|最大|最大值|池化",
    .fault = "every|all|mask|largest|everyone|not only|loser|所有|全部|掩码|每个",
    .backward = everyone_gets_it,
};

}  // namespace minigpt::zoo
