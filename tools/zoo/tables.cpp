// Faults of tables read by number: embedding and gather.

#include "tools/zoo/families.h"

namespace minigpt::zoo {
namespace {

Variable column_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return Variable(Tensor::from<double>(values, shape).to(dtype));
}

// dtable where a row keeps what was written last, in place of the sum of all.
Variable last_write(const Shape& table, const Tensor& index, const Variable& dy) {
  const Variable rows = detail::as_rows(dy);
  const Tensor flat = reshape(index, {index.numel()});
  std::vector<std::int64_t> last(static_cast<std::size_t>(table[0]), -1);
  for (std::int64_t i = 0; i < flat.numel(); ++i) last[static_cast<std::size_t>(flat.at({i}))] = i;
  std::vector<double> kept(static_cast<std::size_t>(flat.numel()));
  for (const std::int64_t i : last)
    if (i >= 0) kept[static_cast<std::size_t>(i)] = 1;
  return embedding_backward(rows * column_of(kept, {flat.numel(), 1}, dy.dtype()), flat, table[0]);
}

void rows_overwritten(const Step& s) {
  if (s.dy.numel() > 0) s.grads[0] = last_write(s.shape(0), Saved(s.node).other(), s.dy);
}

void rows_averaged(const Step& s) {
  const Tensor index = Saved(s.node).other();
  const Variable ones_at(ones({index.numel(), 1}, s.dy.dtype()));
  const Variable counts = embedding_backward(ones_at, reshape(index, {index.numel()}), s.shape(0)[0]);
  s.grads[0] = s.grads[0] / (counts + 1e-30);
}

// Of each place along the first axis: 1 if no later one in its column names the same row, else 0.
std::vector<double> last_places(const Tensor& index, std::int64_t rows) {
  const std::int64_t n = index.dim(0), width = index.numel() / n;
  const Tensor flat = reshape(index, {n, width});
  std::vector<double> kept(static_cast<std::size_t>(index.numel()));
  for (std::int64_t j = 0; j < width; ++j) {
    std::vector<bool> taken(static_cast<std::size_t>(rows), false);
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const auto row = static_cast<std::size_t>(flat.at({i, j}));
      kept[static_cast<std::size_t>(i * width + j)] = taken[row] ? 0 : 1;
      taken[row] = true;
    }
  }
  return kept;
}

// The axis that was gathered along is the one along which adding up gives the right gradient.
void gathered_overwritten(const Step& s) {
  const Tensor index = Saved(s.node).other();
  if (index.numel() == 0) return;
  const double largest = max(index.to(DType::f64)).item();
  for (int axis = 0; axis < index.rank(); ++axis) {
    bool fits = largest < static_cast<double>(s.shape(0)[axis]);
    for (int i = 0; i < index.rank(); ++i) fits = fits && (i == axis || index.dim(i) <= s.shape(0)[i]);
    if (!fits) continue;
    const Variable sum = scatter_add(s.shape(0), axis, index, s.dy);
    if (sum_of_squares(sum.value() - s.grads[0].value()) != 0) continue;
    const Tensor along = transpose(index, 0, axis).contiguous();
    const Variable kept = column_of(last_places(along, s.shape(0)[axis]), along.shape(), s.dy.dtype());
    s.grads[0] = scatter_add(s.shape(0), axis, index, s.dy * transpose(kept, 0, axis));
    return;
  }
}

// The output matrix of a tied model has delivered its share by the time the table delivers its own.
void tie_overwritten(const Step& s) {
  const Ref<detail::GradMeta>& leaf = s.node.inputs[0].leaf;
  if (leaf) leaf->pending = Variable();
}

constexpr const char* kEmbedding = "embedding|embeddings|token embedding|wte|lookup|嵌入|词嵌入|查表";

}  // namespace

extern const Mutant kEmbeddingOverwritten = {
    .at = "embedding",
    .title = {"A GPT learns its rare characters as ever and its frequent ones slowly.",
              "GPT 学罕见字符和平时一样，学常见字符却很慢。"},
    .right = "dweight[v] = sum of dy over the places where index is v",
    .wrong = "dweight[v] = dy at the last place where index is v",
    .find = {"A character that occurs forty times in a batch learns from one of its places. Rare "
             "characters learn as they should, frequent ones slowly. gradcheck: the token table is wrong "
             "in rows of characters that repeat, right in the others; the table of positions is wrong as "
             "soon as the batch holds two texts.",
             "一个批次里出现四十次的字符只从其中一处学习。罕见字符正常，常见字符学得慢。gradcheck：词表里重"
             "复出现的字符对应的行不对，其余的对；批次里有两段文本时，位置表也不对。"},
    .names = kEmbedding,
    .fault = "scatter|accumul|last|overwr|repeat|duplicat|sum|add|累加|最后|覆盖|重复|求和",
    .backward = rows_overwritten,
};

extern const Mutant kEmbeddingAveraged = {
    .at = "embedding",
    .title = {"A GPT learns as ever; one of its tables has gradients that are too small, each row's by its "
              "own factor.",
              "GPT 学得和平时一样；它的一张表梯度太小，每行小的倍数不同。"},
    .right = "dweight[v] = sum of dy over the places where index is v",
    .wrong = "dweight[v] = mean of dy over the places where index is v",
    .find = {"Frequent characters get the gradient of a rare one. gradcheck: rows of the token table are "
             "wrong by the ratio 1 / (number of occurrences), which differs from row to row; rows that "
             "occur once are right.",
             "常见字符得到的梯度像罕见字符一样。gradcheck：词表各行的比值是 1 / 出现次数，行与行不同；只出"
             "现一次的行是对的。"},
    .names = kEmbedding,
    .fault = "mean|averag|divid|count|occur|平均|均值|除以|次数",
    .backward = rows_averaged,
};

extern const Mutant kTieOverwritten = {
    .at = "embedding",
    .settings = R"({"tie_weights": true})",
    .title = {"A GPT is most of a nat behind. With two tables in place of one it would learn as ever.",
              "GPT 落后大半个 nat。如果用两张表而不是一张，就和平时一样。"},
    .right = "dwte = share of the token table + share of the output matrix, which are one tensor",
    .wrong = "dwte = share of the token table",
    .find =
        {"One tensor, two uses: its gradient is the sum of both, and the second wrote over the first. "
         "gradcheck: "
         "transformer.wte.weight is wrong, the position table right too. With tie_weights off, everything is "
         "right.",
         "一个张量用了两次：梯度应是两份之和，后写的却覆盖了先写的。gradcheck：transformer.wte.weight 不对。"
         "关掉 tie_weights 就全对。"},
    .names = "embedding|tied weights|tied|tie|weight tying|wte|lm_head|lm head|嵌入|共享|绑定|权重共享",
    .fault = "tie|tying|share|overwr|lose|lost|add|accumul|lm head|output|共享|覆盖|累加|丢|绑定",
    .backward = tie_overwritten,
};

extern const Mutant kGatherOverwritten = {
    .at = "gather",
    .task = Task::net,
    .title = {"A classifier learns as ever, but what it knows of kinds that occur often comes slowly.",
              "分类器学得和平时一样，但对经常出现的种类学得慢。"},
    .right = "dx = dy added up at the indices",
    .wrong = "dx = dy of the last place that names an index",
    .find = {"An index that occurs n times collects n gradients; an assignment in place of an addition "
             "keeps one. gradcheck: only the table that is read is wrong, in the rows that occur more than "
             "once.",
             "出现 n 次的索引要收集 n 份梯度；写成赋值就只剩一份。gradcheck：只有被读的表不对，而且只在出现"
             "多次的行。"},
    .names = "gather|收集|聚集",
    .fault = "scatter|accumul|last|overwr|repeat|duplicat|sum|add|累加|最后|覆盖|重复|求和",
    .backward = gathered_overwritten,
};

}  // namespace minigpt::zoo
