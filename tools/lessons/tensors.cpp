#include "autograd/ops/add.h"
#include "autograd/ops/sum.h"
#include "tensor/arithmetic.h"
#include "tensor/error.h"
#include "tensor/reduce.h"
#include "tensor/views.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

void layout(Page& page, const char* name, const Tensor& t) {
  page.line("  {:<22} shape {:<10} strides {:<10} offset {}  {}", name, t.shape().str(), t.strides().str(),
            t.offset(), t.is_contiguous() ? "row-major" : "");
}

// 0, 1, 2, ... as float32.
Tensor counting(const Shape& shape) { return reshape(arange(numel(shape), DType::f32), shape); }

}  // namespace

void tensors(Page& page) {
  page.heading({"Tensors: windows on a row of numbers", "张量：一排数字上的窗口"});
  page.say(
      {"A tensor is an array with any number of axes. Its numbers lie in memory in one long row; the shape "
       "says how many "
       "there are along each axis, the strides how far to walk in memory for one step along it. Element (i, "
       "j) lies at "
       "offset + i * strides[0] + j * strides[1].",
       "张量就是有任意多个轴的数组。数字在内存里排成长长的一行；shape 说明每个轴上有几个数，strides "
       "说明沿某个轴走一步，"
       "在内存里要跨过几个数。元素 (i, j) 位于 offset + i * strides[0] + j * strides[1]。"});
  Tensor x = counting({3, 4});
  page.matrix("x", x);

  page.heading({"1. Views cost nothing", "第一步：视图不花钱"});
  page.say(
      {"Transposing, slicing, picking a row, repeating: none of them moves a number. They make a new window "
       "on the same memory.",
       "转置、切片、取一行、重复：都不搬动任何数字，只是在同一块内存上开一个新窗口。"});
  const Tensor xt = transpose(x), right = slice(x, 1, 2, 4), row1 = select(x, 0, 1),
               repeated = expand(row1, {3, 4});
  layout(page, "x", x);
  layout(page, "transpose(x)", xt);
  layout(page, "x[:, 2:4]", right);
  layout(page, "x[1]", row1);
  layout(page, "x[1] repeated 3 times", repeated);
  page.say(
      {"A stride of 0 repeats: every step along that axis stays at the same number. And because the memory "
       "is shared, what is "
       "written through one window is seen through all. Here x[:, 2:4] is set to -1:",
       "步长为 0 "
       "就是重复：沿这个轴怎么走，都停在同一个数上。内存是共用的，所以从一个窗口写入，别的窗口都能看到。"
       "下面把 x[:, 2:4] 全部写成 -1："});
  slice(x, 1, 2, 4).fill_(-1);
  page.matrix("x", x);
  page.matrix("transpose(x)", xt);

  page.heading({"2. Reshape", "第二步：改变形状"});
  page.say(
      {"reshape reads the numbers in order and lays them out anew. On a row-major tensor that is a view as "
       "well; a transposed one "
       "has to be copied first, since its order in memory is another.",
       "reshape "
       "按顺序读出数字，再按新形状排列。对按行存放的张量，这也只是一个视图；转置过的张量在内存里的顺序不同，"
       "必须先复制一份。"});
  const Tensor y = counting({2, 6}), y3 = reshape(y, {3, 4}), yt = reshape(transpose(y), {3, 4});
  page.matrix("reshape(y, (3, 4))", y3);
  page.matrix("reshape(transpose(y), (3, 4))", yt);
  page.line(y3.storage().data() == y.storage().data()
                ? Text{"  the first shares y's memory", "  第一个与 y 共用内存"}
                : Text{"  the first is a copy", "  第一个是复制出来的"});
  page.line(yt.storage().data() == y.storage().data()
                ? Text{"  the second shares y's memory", "  第二个与 y 共用内存"}
                : Text{"  the second is a copy", "  第二个是复制出来的"});

  page.heading({"3. Broadcasting", "第三步：广播"});
  page.say(
      {"Two tensors of different shapes can be added if, counted from the last axis, each pair of extents is "
       "equal or one of them is "
       "1 (or missing). That axis is then repeated, with stride 0, without a copy.",
       "两个形状不同的张量也可以相加：从最后一个轴往前数，每一对长度要么相等，要么其中一个是 "
       "1（或者干脆没有这个轴）。"
       "缺的那一边就重复，步长为 0，不用复制。"});
  const Tensor column = Tensor::from<float>({10, 20, 30}, {3, 1}),
               line = Tensor::from<float>({1, 2, 3, 4}, {4});
  page.matrix("column", column);
  page.matrix("row", line);
  page.matrix("column + row", column + line);
  page.say({"What does not fit is an error that names both shapes:", "对不上就报错，并写明两个形状："});
  try {
    add(counting({3, 4}), counting({3}));
  } catch (const Error& e) {
    page.line("  {}", e.what());
  }

  page.heading({"4. What broadcasting does to gradients", "第四步：广播与梯度"});
  page.say(
      {"A number that was repeated was used several times, and the parts of its gradient add up (lesson "
       "scalar-autograd). So the "
       "gradient of a broadcast operand is a sum over the axes along which it was repeated. This is why a "
       "bias's gradient "
       "is summed over the batch.",
       "重复过的数等于用了好几次，它的梯度就是各份之和（见 scalar-autograd "
       "一课）。所以被广播的那个张量，梯度要沿着重复的轴求和。"
       "偏置的梯度要对整个批次求和，就是这个道理。"});
  Variable batch(counting({5, 2}), true), bias(Tensor::from<float>({0.5f, -0.5f}, {2}), true);
  sum(batch + bias).backward();
  page.matrix("d sum(x + bias) / d x", batch.grad().value());
  page.matrix("d sum(x + bias) / d bias", bias.grad().value());

  page.exercise(
      {"x has shape (3, 4) and is row-major, so its strides are (4, 1). How far into memory is element (2, "
       "3)?",
       "x 的形状是 (3, 4)，按行存放，步长为 (4, 1)。元素 (2, 3) 在内存里的第几个位置（从 0 数起）？"},
      {"2 * 4 + 3 * 1 = 11", "2 * 4 + 3 * 1 = 11"}, 11,
      static_cast<double>(2 * x.strides()[0] + 3 * x.strides()[1]));
  page.exercise({"How many numbers has the sum of tensors of shapes (2, 1, 5) and (4, 1)?",
                 "形状 (2, 1, 5) 与 (4, 1) 的两个张量相加，结果有多少个数？"},
                {"the shape is (2, 4, 5): 40", "结果的形状是 (2, 4, 5)：40 个"}, 40,
                static_cast<double>((zeros({2, 1, 5}) + zeros({4, 1})).numel()));
  page.exercise({"In section 4, what would be the gradient of each bias with a batch of 32 rows?",
                 "第四步里，如果批次有 32 行，每个偏置的梯度是多少？"},
                {"32: one for each row that it was added to", "32：它加到了 32 行上，每行贡献 1"}, 32,
                sum_to(ones({32, 2}), {2}).at({0}));
}

}  // namespace minigpt::lessons
