// Faults of operations that move, repeat or collect elements.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

void moved_one_on(const Step& s) {
  const Shape& shape = s.shape(0);
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == s.dy.dim(axis)) continue;
    const std::int64_t n = shape[axis];
    s.grads[0] = concat({slice(s.grads[0], axis, n - 1, n), slice(s.grads[0], axis, 0, n - 1)}, axis);
    return;
  }
}

void reshaped_back(const Step& s) { s.grads[0] = reshape(s.dy, s.shape(0)); }

void parts_exchanged(const Step& s) {
  for (int i = 1; i < s.grads.size(); ++i)
    if (s.has(0) && s.has(i) && s.shape(0) == s.shape(i)) return std::swap(s.grads[0], s.grads[i]);
}

// What was repeated along an axis gets the gradient of the first copy alone.
Variable first_copy(Variable dy, const Shape& shape) {
  while (dy.rank() > shape.size()) dy = select(dy, 0, 0);
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] == 1 && dy.dim(axis) > 1) dy = slice(dy, axis, 0, 1);
  return dy;
}

void first_copy_of_operand(const Step& s) {
  if (s.dy.numel() == 0) return;
  for (int i = 0; i < s.grads.size(); ++i)
    if (s.has(i)) s.grads[i] = first_copy(s.grads[i], s.shape(i));
}

void skip_dropped(const Step& s) {
  if (s.grads.size() == 2 && s.has(0) && s.has(1) && s.shape(0) == s.shape(1)) s.grads[0] = Variable();
}

// R turns by the angle of the position; R (R (R^T dy)) = R dy.
void turned_the_wrong_way(const Step& s) {
  const Tensor table = Saved(s.node).other();
  const std::int64_t heads = s.dy.dim(2) / 3 / (2 * table.dim(-1));
  s.grads[0] = rotary(rotary(s.grads[0], heads, table), heads, table);
}

}  // namespace

extern const Mutant kSliceShifted = {
    .at = "slice",
    .title = {"A GPT is two tenths of a nat behind, with a gradient norm of four.",
              "GPT 落后零点二 nat，梯度范数是四。"},
    .right = "dx = zeros, with dy in the places that were taken",
    .wrong = "dx = zeros, with dy one place further on",
    .find = {"Cutting q, k and v out of one tensor is a slice; their gradients come back one channel too "
             "far. gradcheck: all of c_attn (last block) is wrong, and its analytic row i is the numeric "
             "row i - 1.",
             "从一个张量切出 q、k、v 就是切片；它们的梯度回来时偏了一个通道。gradcheck：最后一块的 c_attn "
             "全都不对，解析的第 i 行就是数值的第 i - 1 行。"},
    .names = "slice|split|slicing|切片|切分|分割",
    .fault = "off by one|by one|shift|one place|one too far|start|offset|position|差一|偏|移位|位置|起点",
    .backward = moved_one_on,
};

extern const Mutant kTransposeReshaped = {
    .at = "transpose permute",
    .title = {"A GPT ends a little above the loss it should reach, with a gradient norm twice as large.",
              "GPT 最后的损失比应有的高一点，梯度范数大了一倍。"},
    .right = "dx = dy with the two axes swapped back",
    .wrong = "dx = dy under the shape of x (reshape)",
    .find = {"The shape is right, the order is not: numbers arrive at other heads and positions. "
             "gradcheck: what lies before a transpose is wrong without a common ratio: in the last block "
             "c_attn, while c_proj is right.",
             "形状对，顺序不对：数字到了别的头和位置。gradcheck：转置之前的不对，没有共同比值：c_attn 不对"
             "，c_proj 对。"},
    .names = "transpose|permute|transposition|transposing|转置|换轴|置换",
    .fault = "reshape|view|order|shape|layout|not swapped|not transposed|swap|变形|顺序|形状|布局",
    .backward = reshaped_back,
};

extern const Mutant kConcatExchanged = {
    .at = "concat",
    .task = Task::net,
    .title = {"A classifier starts slowly; two of its features seem to learn each other's lessons.",
              "分类器起步慢；两个特征好像在学对方的功课。"},
    .right = "dx_i = the i-th part of dy",
    .wrong = "dx_0 and another part of the same shape change places",
    .find = {"Only parts of equal width can be mixed up unnoticed. gradcheck: two branches are wrong, and "
             "each one's gradient is what the other should have.",
             "只有宽度相同的部分才会悄悄弄混。gradcheck：两个分支不对，各自拿到的正是对方该有的梯度。"},
    .names = "concat|cat|concatenate|concatenation|拼接|连接",
    .fault = "swap|exchang|order|mixed|place|wrong part|offset|interchang|互换|交换|顺序|弄混",
    .backward = parts_exchanged,
};

extern const Mutant kBroadcastFirst = {
    .at = "add mul expand sub div",
    .title = {"A GPT learns nearly as well as ever, but larger batches do not help one of its tables.",
              "GPT 学得几乎一样好，但给它更多文本，对其中一张表没有帮助。"},
    .right = "an operand that was repeated gets the sum of dy over the copies",
    .wrong = "an operand that was repeated gets dy of its first copy",
    .find = {"In the GPT, position vectors are added to every text of the batch, and learn from the first "
             "one only. gradcheck: transformer.wpe.weight alone is wrong; with a batch of one text "
             "everything is right.",
             "在 GPT 里，位置向量加到批次的每段文本上，却只从第一段学习。gradcheck：只有 "
             "transformer.wpe.weight 不对；批次里只有一段文本时全对。"},
    .names = "add|broadcast|broadcasting|expand|addition|position|positions|wpe|加法|广播|位置",
    .fault = "sum|broadcast|first|copies|batch|reduce|unbroadcast|求和|广播|第一|批",
    .backward = first_copy_of_operand,
};

extern const Mutant kSkipDropped = {
    .at = "add",
    .title = {"A GPT gets stuck at the frequencies of single characters; its gradients are too small from "
              "the first step.",
              "GPT 停在单个字符的频率上；梯度从第一步起就太小。"},
    .right = "y = a + b:   da = dy, db = dy",
    .wrong = "da = 0 where a and b have the same shape, db = dy",
    .find = {"The residual path carries values up and no gradients down: each block learns through the "
             "branches above it alone, and lower ones nearly nothing. gradcheck: the last branch is right, "
             "everything before it wrong. The norms of gradients, layer by layer, fall quickly towards the "
             "input.",
             "残差通路向上传值，却不向下传梯度：每个块只能通过上面的分支学习，越靠下越学不到。gradcheck：最"
             "后一个分支对，之前的都不对。逐层的梯度范数向输入方向迅速变小。"},
    .names = "add|addition|residual|residual path|skip|skip connection|加法|残差|跳跃",
    .fault = "drop|missing|lost|no gradient|da|first|residual|skip|one side|zero|丢|缺|没有|残差|跳跃|断",
    .backward = skip_dropped,
};

extern const Mutant kRotaryForward = {
    .at = "rotary",
    .settings = R"({"positions": "rotary"})",
    .title = {"A GPT ends a little above the loss it should reach; the later a position, the less it "
              "learns.",
              "GPT 最后的损失比应有的高一点；位置越靠后学得越差。"},
    .right = "y = R x:   dx = R^T dy, turned back",
    .wrong = "dx = R dy, turned on",
    .find = {"A rotation's transpose turns the other way. At position 0 there is no angle and no error; it "
             "grows with the position. gradcheck: rows of queries and keys of c_attn (last block) are "
             "wrong, rows of values right, also without a mask and a scale.",
             "旋转的转置是反方向旋转。位置 0 没有角度也没有误差，位置越靠后误差越大。gradcheck：最后一块的 "
             "c_attn 的查询行和键行不对，值的行对。"},
    .names = "rotary|rope|rotation|旋转|旋转位置",
    .fault = "sign|transpos|invers|direction|angle|back|wrong way|符号|转置|逆|方向|角度|反",
    .backward = turned_the_wrong_way,
};

}  // namespace minigpt::zoo
