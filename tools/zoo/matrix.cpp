// Faults of matrix products and affine maps.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

using detail::as_rows;

// A square left factor has the shape of its transpose, so forgetting to transpose goes unnoticed.
void left_not_transposed(const Step& s) {
  const Shape& a = s.shape(0);
  if (s.has(1) && a.size() >= 2 && a[a.size() - 1] == a[a.size() - 2] && a.size() == s.shape(1).size())
    s.grads[1] = matmul(s.input(0), s.dy);
}

void weight_transposed(const Step& s) {
  if (s.has(1) && s.shape(1)[0] == s.shape(1)[1]) s.grads[1] = transpose(s.grads[1], 0, 1);
}

void bias_averaged(const Step& s) {
  if (!s.has(2)) return;
  const double rows = static_cast<double>(s.dy.numel()) / static_cast<double>(s.dy.dim(-1));
  s.grads[2] = s.grads[2] / rows;
}

void bias_forgotten(const Step& s) {
  if (s.has(2)) s.grads[2] = s.grads[2] * 0.0;
}

void last_text_only(const Step& s) {
  if (!s.has(1) || s.dy.rank() < 3) return;
  const Variable dy = select(s.dy, 0, -1), x = select(s.input(0), 0, -1);
  s.grads[1] = matmul(transpose(as_rows(dy), 0, 1), as_rows(x));
}

void input_sign(const Step& s) {
  if (s.has(0)) s.grads[0] = -s.grads[0];
}

// dz = dy * f'(z) is where the function's slope enters; dy goes on without it.
void slope_forgotten(const Step& s) {
  const Variable dz = matmul(s.dy, s.input(3));
  if (s.has(0)) s.grads[0] = matmul(dz, s.input(1));
  if (s.has(1)) s.grads[1] = matmul(transpose(as_rows(dz), 0, 1), as_rows(s.input(0)));
  if (s.has(2)) s.grads[2] = dz;
}

void slope_missing_in_input(const Step& s) {
  if (s.has(0)) s.grads[0] = matmul(s.dy, s.input(1));
}

constexpr const char* kLinear = "linear|affine|linear layer|线性|仿射|全连接";

}  // namespace

extern const Mutant kMatmulTranspose = {
    .at = "matmul",
    .title = {"A GPT ends somewhat above the loss it should reach, with a gradient norm half as large "
              "again.",
              "GPT 最后的损失比应有的高一些，梯度范数大了一半。"},
    .right = "y = a b:   db = a^T dy",
    .wrong = "db = a dy",
    .find = {"The attention weights a are (T, T): shapes fit with and without the transpose. Without it, "
             "the value at position j learns from what it received and not from whom it was given to. "
             "gradcheck: in the last block c_attn is wrong in the rows of values, right in queries and "
             "keys. Shapes that are all different in a test would have thrown at once.",
             "注意力权重 a 是 (T, T)：转不转置形状都对。不转置时，位置 j 的值学的是它收到的，而不是它给出去"
             "的。gradcheck：最后一块的 c_attn 的值那几行不对，查询和键是对的。测试里若用各不相同的形状，马"
             "上就会报错。"},
    .names = "matmul|matrix product|matrix multiplication|matrix multiply|矩阵乘|矩阵乘法",
    .fault = "transpos|转置",
    .backward = left_not_transposed,
};

extern const Mutant kLinearWeightTransposed = {
    .at = "linear",
    .title = {"A GPT learns as ever; one matrix in each block moves in the wrong direction.",
              "GPT 学得和平时一样；每个块里有一个矩阵朝错误的方向移动。"},
    .right = "y = x W^T:   dW = dy^T x",
    .wrong = "dW = x^T dy",
    .find =
        {"Only square matrices accept a transposed gradient, so of all weights just the attention's output "
         "projection is "
         "wrong: gradcheck names c_proj of attn, and its analytic element (i, j) is the numeric (j, i).",
         "只有方阵才能接受转置的梯度，所以所有权重里只有注意力的输出投影不对：gradcheck 指出 attn 的 c_proj，"
         "它的解析元素 (i, j) 就是数值的 (j, i)。"},
    .names = kLinear,
    .fault = "transpos|转置",
    .backward = weight_transposed,
};

extern const Mutant kBiasAveraged = {
    .at = "linear",
    .task = Task::net,
    .title = {"A classifier learns as ever; three of its tensors hardly move.",
              "分类器学得和平时一样；它的三个张量几乎不动。"},
    .right = "db = sum of dy over all rows",
    .wrong = "db = mean of dy over all rows",
    .find =
        {"A bias is used once per row, so its gradient is a sum. gradcheck: all biases of linear layers are "
         "wrong by one "
         "ratio, 1 / rows; weights are right.",
         "偏置每行用一次，梯度是各行之和。gradcheck：线性层的偏置全都差同一个比值 1 / 行数；权重是对的。"},
    .names = "linear|affine|linear layer|bias|线性|仿射|全连接|偏置",
    .fault = "mean|averag|divid|factor|1 n|rows|平均|均值|除以|因子",
    .backward = bias_averaged,
};

extern const Mutant kBiasForgotten = {
    .at = "linear",
    .task = Task::net,
    .title = {"A classifier learns as ever; three of its tensors never move.",
              "分类器学得和平时一样；它的三个张量从不移动。"},
    .right = "db = sum of dy over all rows",
    .wrong = "db = 0",
    .find = {"Biases never move from where they started, and the rest of the network learns around it. "
             "gradcheck: analytic 0 for every bias of a linear layer. So does printing the gradient norm "
             "of each parameter.",
             "偏置一直停在初始值，网络其余部分绕着它学。gradcheck：线性层每个偏置的解析梯度都是 0。打印每个"
             "参数的梯度范数也能看出。"},
    .names = "linear|affine|linear layer|bias|线性|仿射|全连接|偏置",
    .fault = "bias|zero|never|missing|forg|drop|no gradient|not learn|偏置|零|没有|漏|忘|丢",
    .backward = bias_forgotten,
};

extern const Mutant kLastTextOnly = {
    .at = "linear",
    .title = {"A GPT learns noisily, as if it saw less: it is two tenths of a nat behind.",
              "GPT 学得很吵，好像看到的更少：落后零点二 nat。"},
    .right = "dW = dy^T x, summed over all rows of all texts in the batch",
    .wrong = "dW = dy^T x of the last text in the batch",
    .find = {"The gradient of every matrix is that of a batch of one, while biases and norms see the whole "
             "batch: noise. Training works, only less well, and a larger batch does not help. gradcheck: "
             "all weights of linear layers wrong without a common ratio; with a batch of one, everything "
             "is right.",
             "每个矩阵的梯度只来自一段文本，而偏置和归一化看到整个批次：噪声变大。训练还行，只是差些，加大"
             "批次也没用。gradcheck：线性层的权重都不对，没有共同比值；批次大小为 1 时全对。"},
    .names = kLinear,
    .fault = "batch|last|one text|rows|sum|批|最后|求和",
    .backward = last_text_only,
};

extern const Mutant kLinearInputSign = {
    .at = "linear",
    .title = {"A GPT starts by getting worse and then crawls; about half of its gradients harm it.",
              "GPT 一开始变差，然后慢慢爬；大约一半的梯度在帮倒忙。"},
    .right = "dx = dy W",
    .wrong = "dx = -dy W",
    .find = {"Each linear layer turns the sign of what it passes back. Weights of the read-out learn, "
             "whatever lies one layer behind learns to do harm, two layers behind is right again. "
             "gradcheck: ratios of -1.",
             "每个线性层都把往回传的梯度变号。输出层的权重在学，它前面一层学着捣乱，再前面一层又对了。"
             "gradcheck：比值是 -1。"},
    .names = kLinear,
    .fault = "sign|minus|negat|符号|负|变号",
    .backward = input_sign,
};

extern const Mutant kMlpSlope = {
    .at = "mlp",
    .task = Task::fused,
    .title = {"A GPT learns as ever, with a gradient norm nearly twice as large.",
              "GPT 学得和平时一样，梯度范数却几乎大了一倍。"},
    .right = "dz = (dy W2) * f'(z)",
    .wrong = "dz = dy W2",
    .find = {"The chain rule without its link: the slope of the activation between the two matrices is "
             "missing. gradcheck: c_proj of the mlp is right, c_fc and all that lies before it wrong.",
             "链式法则少了一环：两个矩阵之间激活函数的斜率丢了。gradcheck：mlp 的 c_proj 是对的，c_fc 和它"
             "前面的全都不对。"},
    .names = "mlp|feed forward|feedforward|gelu|activation|前馈|激活",
    .fault = "slope|derivative|activation|gelu|f z|chain|导数|斜率|激活|链式",
    .backward = slope_forgotten,
};

extern const Mutant kFusedSlope = {
    .at = "linear_activation",
    .task = Task::net,
    .title = {"A classifier learns as fast as ever; everything in front of its hidden layer has the wrong "
              "gradient.",
              "分类器学得和平时一样快；隐藏层之前的梯度全都不对。"},
    .right = "dz = dy * f'(z),   dx = dz W",
    .wrong = "dx = dy W",
    .find = {"Weight and bias of the layer use dz and are right; what goes on to the layer before it "
             "skipped the slope. gradcheck: the layer itself is right, everything that leads to its input "
             "wrong.",
             "这一层的权重和偏置用 dz，是对的；传给前一层的却跳过了斜率。gradcheck：本层没问题，通向它输入"
             "的全都不对。"},
    .names = "linear_activation|linear activation|activation|激活",
    .fault = "slope|derivative|input|dx|f z|chain|导数|斜率|输入|链式",
    .backward = slope_missing_in_input,
};

}  // namespace minigpt::zoo
