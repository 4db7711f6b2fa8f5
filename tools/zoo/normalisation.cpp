// Faults of normalisations.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

// What layer_norm kept: h = (x - mean) * rstd, and g = dy * weight.
struct Rows {
  Variable h, g, rstd;
};
Rows rows_of(const Step& s) {
  Shape column = s.dy.shape();
  column[column.size() - 1] = 1;
  const Variable mean = reshape(s.other(0), column), rstd = reshape(s.other(1), column), w = s.input(1);
  return {(s.input(0) - mean) * rstd, w.defined() ? s.dy * w : s.dy, rstd};
}

void first_mean_missing(const Step& s) {
  if (!s.has(0)) return;
  const Rows r = rows_of(s);
  s.grads[0] = s.grads[0] + mean(r.g, {-1}, true) * r.rstd;
}

void second_mean_missing(const Step& s) {
  if (!s.has(0)) return;
  const Rows r = rows_of(s);
  s.grads[0] = s.grads[0] + r.h * mean(r.g * r.h, {-1}, true) * r.rstd;
}

void constant_statistics(const Step& s) {
  if (!s.has(0)) return;
  const Rows r = rows_of(s);
  s.grads[0] = r.g * r.rstd;
}

void gain_from_raw_input(const Step& s) {
  if (s.has(1)) s.grads[1] = sum_to(s.dy * s.input(0), s.shape(1));
}

void shift_per_last_row(const Step& s) {
  if (!s.has(2)) return;
  const Variable rows = detail::as_rows(s.dy);
  if (rows.dim(0) > 0) s.grads[2] = select(rows, 0, -1);
}

void rms_mean_missing(const Step& s) {
  if (!s.has(0)) return;
  Shape column = s.dy.shape();
  column[column.size() - 1] = 1;
  const Variable rrms = reshape(s.other(), column), h = s.input(0) * rrms, w = s.input(1);
  const Variable g = w.defined() ? s.dy * w : s.dy;
  s.grads[0] = g * rrms;
}

void before_the_norm(const Step& s) {
  if (s.has(3)) s.grads[3] = matmul(transpose(detail::as_rows(s.dy), 0, 1), detail::as_rows(s.input(0)));
}

constexpr const char* kLayerNorm =
    "layer_norm|layer norm|layernorm|layer normalisation|layer normalization|norm|层归一化|归一化";

}  // namespace

extern const Mutant kNormFirstMean = {
    .at = "layer_norm",
    .title = {"A GPT falls behind slowly while its gradient norm creeps up.",
              "GPT 慢慢落后，梯度范数悄悄变大。"},
    .right = "dx = (g - mean(g) - h * mean(g * h)) / std",
    .wrong = "dx = (g - h * mean(g * h)) / std",
    .find = {"Adding a number to a whole row changes nothing behind the norm, so the gradients of a row "
             "add up to 0; without the first mean they do not. Training hardly shows it. gradcheck: "
             "whatever feeds a norm is wrong, the last norm's own gain and the read-out right.",
             "整行加上同一个数，归一化之后什么也不变，所以一行的梯度之和为 0；少了第一个均值就不为 0。训练"
             "几乎看不出。gradcheck：通向归一化的都不对，最后一个归一化自己的增益和输出层是对的。"},
    .names = kLayerNorm,
    .fault = "mean|centr|center|first term|sum|均值|平均|中心|求和",
    .backward = first_mean_missing,
};

extern const Mutant kNormSecondMean = {
    .at = "layer_norm",
    .title =
        {"A GPT gets stuck at the frequencies of single characters, and its residual stream grows and grows.",
         "GPT 停在单个字符的频率上，残差流越来越大。"},
    .right = "dx = (g - mean(g) - h * mean(g * h)) / std",
    .wrong = "dx = (g - mean(g)) / std",
    .find = {"Scaling a row changes nothing behind the norm, so its gradient is orthogonal to h; without "
             "the second mean a part along h remains, and the residual stream grows. gradcheck: whatever "
             "feeds a norm is wrong. The product of dx and h, summed over a row, shows which mean it is.",
             "把一行放大，归一化之后什么也不变，所以梯度与 h 正交；少了第二个均值就留下沿 h 的分量，残差流"
             "会变大。gradcheck：通向归一化的都不对。dx 与 h 的乘积按行求和，就知道是哪个均值。"},
    .names = kLayerNorm,
    .fault = "mean|varianc|std|deviation|second term|projection|g h|gh|scale|均值|方差|标准差|第二|平均|投影",
    .backward = second_mean_missing,
};

extern const Mutant kNormConstant = {
    .at = "layer_norm",
    .title = {"A GPT gets stuck at the frequencies of single characters; its gradients are ordinary at "
              "first and huge later.",
              "GPT 停在单个字符的频率上；梯度起初正常，后来巨大。"},
    .right = "dx = (g - mean(g) - h * mean(g * h)) / std",
    .wrong = "dx = g / std",
    .find = {"Mean and deviation are treated as constants, as if they did not depend on x: both terms are "
             "gone. gradcheck: whatever feeds a norm is wrong, gains and shifts of the last norm right.",
             "把均值和标准差当成常数，好像它们与 x 无关：两项都没了。gradcheck：通向归一化的都不对，最后一"
             "个归一化的增益和偏移是对的。"},
    .names = kLayerNorm,
    .fault = "constant|both|statistic|mean|varianc|term|detach|常数|两|统计|均值|方差",
    .backward = constant_statistics,
};

extern const Mutant kNormGainRaw = {
    .at = "layer_norm",
    .title = {"A GPT learns as ever; some of its vectors, and never a matrix, have the wrong gradient.",
              "GPT 学得和平时一样；有些向量梯度不对，矩阵都没问题。"},
    .right = "dweight = sum of dy * h",
    .wrong = "dweight = sum of dy * x",
    .find = {"The gain multiplies the normalised row h, and its gradient was formed with the row as it "
             "came in. gradcheck: only the weights of norms are wrong.",
             "增益乘的是归一化后的 h，梯度却用了原来的 x。gradcheck：只有归一化的 weight 不对。"},
    .names = kLayerNorm,
    .fault = "gain|weight|dweight|gamma|raw|unnormal|input|增益|权重|原始|输入|未归一",
    .backward = gain_from_raw_input,
};

extern const Mutant kNormShift = {
    .at = "layer_norm",
    .title = {"A GPT learns as ever; some of its vectors have a gradient that is far too small.",
              "GPT 学得和平时一样；有些向量的梯度小得太多。"},
    .right = "dbias = sum of dy over all rows",
    .wrong = "dbias = dy of the last row",
    .find = {"The sum over rows was written as an assignment. gradcheck: only the biases of norms are "
             "wrong.",
             "对行的求和写成了赋值。gradcheck：只有归一化的 bias 不对。"},
    .names = kLayerNorm,
    .fault = "bias|shift|dbias|beta|last row|sum|overwr|偏置|偏移|求和|最后|覆盖",
    .backward = shift_per_last_row,
};

extern const Mutant kRmsMean = {
    .at = "rms_norm",
    .settings = R"({"norm": "rms"})",
    .title = {"A GPT without centring gets stuck at the frequencies of single characters while its "
              "gradient norm climbs.",
              "不做中心化的 GPT 停在单个字符的频率上，梯度范数不断上升。"},
    .right = "dx = (g - h * mean(g * h)) / rms",
    .wrong = "dx = g / rms",
    .find = {"The root mean square depends on x too. Without that term a part along h remains, and nothing "
             "keeps the residual stream from growing. gradcheck: whatever feeds a norm is wrong.",
             "均方根也依赖 x。少了这一项，梯度留下沿 h 的分量，残差流会不断变大。gradcheck：通向归一化的都"
             "不对。"},
    .names = "rms_norm|rms norm|rmsnorm|root mean square|norm|均方根|归一化",
    .fault = "mean|term|projection|constant|g h|gh|second|均值|项|投影|常数|平均",
    .backward = rms_mean_missing,
};

extern const Mutant kWeightBeforeNorm = {
    .at = "layer_norm_linear",
    .task = Task::fused,
    .title = {"A GPT in its fast form learns as ever; only the matrices that make queries, keys and values "
              "have the wrong gradient.",
              "快速形式的 GPT 学得和平时一样；只有产生查询、键和值的矩阵梯度不对。"},
    .right = "y = h W^T, h = layer_norm(x):   dW = dy^T h",
    .wrong = "dW = dy^T x",
    .find = {"The fused operation does not keep h and must compute it again; the fault takes x, which it "
             "has at hand. gradcheck: of all parameters only c_attn.weight is wrong, all of its rows.",
             "融合算子没有保存 h，需要重新计算；这里拿了手边的 x。gradcheck：所有参数里只有 c_attn.weight "
             "不对，而且每一行都不对。"},
    .names =
        "layer_norm_linear|layer norm linear|norm linear|linear|layer norm|layernorm|c_attn|线性|层归一化"
        "|归一化",
    .fault = "before|raw|unnormal|input|not normal|x instead|x in place|without norm|之前|原始|输入|未归一",
    .backward = before_the_norm,
};

}  // namespace minigpt::zoo
