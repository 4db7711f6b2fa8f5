#include "autograd/ops.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/tiny_autograd.h"

namespace minigpt::lessons {
namespace {

// A single number that wants a gradient.
Variable number(double x) { return Variable(Tensor::scalar(x), true); }

void row(Page& page, const char* name, const Variable& v) {
  page.line("  {:<14} {:>12.4f} {:>14.4f}", name, v.item(), v.grad().item());
}

// The expression in the README of karpathy/micrograd, whose results are printed there.
void larger_example(Page& page) {
  Variable a = number(-4.0), b = number(2.0);
  Variable c = a + b;
  Variable d = a * b + pow(b, 3);
  c = c + (c + 1);
  c = c + (1 + c + (-a));
  d = d + (d * 2 + relu(b + a));
  d = d + (3 * d + relu(b - a));
  Variable e = c - d;
  Variable f = pow(e, 2);
  Variable g = f / 2.0;
  g = g + 10.0 / f;
  for (Variable* v : {&c, &d, &e, &f, &g}) v->retain_grad();
  g.backward();
  page.line({"                        value        gradient", "                        数值         梯度"});
  row(page, "a", a);
  row(page, "b", b);
  row(page, "c", c);
  row(page, "d", d);
  row(page, "e = c - d", e);
  row(page, "f = e^2", f);
  row(page, "g", g);
  page.value("g", g.item());
  page.value("dg/da", a.grad().item());
  page.value("dg/db", b.grad().item());
  page.exercise(
      {"In this expression relu(b + a) has a = -4, b = 2. What does it pass back to a?",
       "在这个式子里 relu(b + a) 处 a = -4、b = 2。它传回给 a 的梯度是多少？"},
      {"0: b + a = -2 is negative, relu is flat there.", "0：b + a = -2 是负数，relu 在那里是平的。"}, 0,
      (a + b).item() > 0 ? 1 : 0);
}

}  // namespace

void scalar_autograd(Page& page) {
  page.heading({"Gradients, one number at a time", "一个数一个数地求梯度"});
  page.say(
      {"Training is: compute how wrong a model is (one number, the loss), find out for every parameter which "
       "way to turn "
       "it so that the loss falls, turn a little, repeat. \"Which way and how strongly\" is the gradient: by "
       "how much the "
       "loss changes for each unit that the parameter changes.",
       "训练就是：先算出模型错得有多厉害（一个数，叫损失），再弄清每个参数该往哪边拧才能让损失变小，拧一点点"
       "，如此反复。"
       "“往哪边拧、影响多大”就是梯度：参数每变化一个单位，损失跟着变化多少。"});

  page.heading({"1. The chain rule by hand", "第一步：手算链式法则"});
  page.say(
      {"Take L = (a b + c)^2 with a = 2, b = -3, c = 10. Going forward, d = a b + c = 4 and L = 16. Going "
       "backward: L "
       "changes 2d = 8 times as fast as d. d changes as fast as c, so dL/dc = 8; it changes b times as fast "
       "as a, so "
       "dL/da = 8 * (-3) = -24; and dL/db = 8 * 2 = 16. Slopes along a path multiply. The library says:",
       "取 L = (a b + c)^2，其中 a = 2，b = -3，c = 10。向前算：d = a b + c = 4，L = 16。往回算：L 的变化是 "
       "d 的 "
       "2d = 8 倍；d 的变化与 c 相同，所以 dL/dc = 8；d 的变化是 a 的 b 倍，所以 dL/da = 8 * (-3) = "
       "-24；同理 "
       "dL/db = 8 * 2 = 16。沿着一条路径，斜率相乘。程序库给出的结果："});
  Variable a = number(2), b = number(-3), c = number(10);
  Variable d = a * b + c;
  d.retain_grad();
  const Variable loss = d * d;
  loss.backward();
  page.line({"                        value        gradient", "                        数值         梯度"});
  row(page, "a", a);
  row(page, "b", b);
  row(page, "c", c);
  row(page, "d = a b + c", d);
  page.value("L", loss.item());
  page.say({"No trust needed: move a by a millionth and look at L.",
            "不必轻信：把 a 挪动百万分之一，看看 L 变了多少。"});
  const double eps = 1e-6, moved = (2 + eps) * -3 + 10;
  page.value("(L(a + 0.000001) - L(a)) / 0.000001", (moved * moved - 16) / eps);

  page.heading({"2. Used twice: the parts add up", "第二步：用了两次，就把两份加起来"});
  page.say(
      {"d * d uses d twice, and each use sends d back to it: 4 + 4 = 8. The same for y = x x + x at x = 3: "
       "the product sends "
       "3 + 3, the sum 1.",
       "d * d 把 d 用了两次，每一次都往回传一份 d：4 + 4 = 8。y = x x + x 在 x = 3 处也一样：乘法传回 3 + "
       "3，加法传回 1。"});
  Variable x = number(3);
  (x * x + x).backward();
  page.value("dy/dx", x.grad().item());

  page.heading({"3. The whole engine on one page", "第三步：一页纸写完整个引擎"});
  page.say(
      {"A program can do this for any expression if every operation notes what it was made of and its local "
       "slopes. The "
       "file tools/lessons/tiny_autograd.h is exactly that, for single numbers: a list of entries, and a "
       "loop that walks it "
       "backwards. It agrees.",
       "只要每个运算都记下自己由谁算来、局部斜率是多少，程序就能对任意式子做同样的事。文件 "
       "tools/lessons/tiny_autograd.h "
       "就是这样一个只处理单个数的引擎：一张列表，加上一个从后往前走的循环。结果一致。"});
  Tape tape;
  const TinyValue ta = append(tape, 2), tb = append(tape, -3), tc = append(tape, 10), td = ta * tb + tc;
  const TinyValue tiny_loss = td * td;
  tiny_loss.backward();
  page.line("  for i = last .. first:   left.grad += grad * dleft;   right.grad += grad * dright");
  page.line("  L = {:.4f}   dL/da = {:.4f}   dL/db = {:.4f}   dL/dc = {:.4f}", tiny_loss.data(), ta.grad(),
            tb.grad(), tc.grad());

  page.heading({"4. A larger expression", "第四步：一个大一点的式子"});
  page.say(
      {"The README of karpathy/micrograd shows an expression of two numbers with sums, products, powers and "
       "relu(x) = max(x, "
       "0). It promises 24.7041, 138.8338 and 645.5773. Read it in tools/lessons/scalar_autograd.cpp; here "
       "it runs on the "
       "library's Variables. In the next lesson their values become whole arrays; nothing else changes.",
       "karpathy/micrograd 的 README 里有一个由两个数出发、包含加法、乘法、乘方和 relu(x) = max(x, 0) "
       "的式子，给出的结果是 "
       "24.7041、138.8338 和 645.5773。式子写在 tools/lessons/scalar_autograd.cpp 里，下面用本库的 Variable "
       "来算。"
       "下一课会把单个数换成整个数组，其余的都不变。"});
  larger_example(page);
  page.exercise({"Change a from 2 against its gradient, a = 2 - 0.01 * (-24). What is L = (a b + c)^2 now?",
                 "把 a 从 2 沿梯度的反方向挪一步：a = 2 - 0.01 * (-24)。现在 L = (a b + c)^2 是多少？"},
                {"(2.24 * (-3) + 10)^2 = 10.7584, less than 16: one step of gradient descent.",
                 "(2.24 * (-3) + 10)^2 = 10.7584，比 16 小：这就是一步梯度下降。"},
                10.7584, std::pow((2 - 0.01 * a.grad().item()) * -3 + 10, 2));
  page.exercise({"What is dy/dx of y = x x x at x = 2, from three uses of x?",
                 "y = x x x 在 x = 2 处的导数是多少？x 用了三次。"},
                {"three times 2 * 2: 12", "三份 2 * 2：12"}, 12, [] {
                  Variable v = number(2);
                  (v * v * v).backward();
                  return v.grad().item();
                }());
}

}  // namespace minigpt::lessons
