#include "tests/differential/plain.h"

#include <cmath>
#include <numbers>

namespace minigpt::differential {

Number activate(Tape& t, Number x, Activation f) {
  switch (f) {
    case Activation::none:
      return x;
    case Activation::relu:
      return t.relu(x);
    case Activation::relu_squared: {
      const Number y = t.relu(x);
      return t.mul(y, y);
    }
    case Activation::silu:
      return t.mul(x, t.sigmoid(x));
    case Activation::gelu_erf: {
      const Number phi = t.shift(t.erf(t.scale(x, 1 / std::numbers::sqrt2)), 1);
      return t.mul(t.scale(x, 0.5), phi);
    }
    case Activation::gelu_tanh: {
      const Number cube = t.scale(t.mul(t.mul(x, x), x), 0.044715);
      const Number u = t.scale(t.add(x, cube), std::sqrt(2 / std::numbers::pi));
      return t.mul(t.scale(x, 0.5), t.shift(t.tanh(u), 1));
    }
  }
  return x;
}

Array affine(Tape& t, const Array& x, const Array& weight, const Array& bias) {
  const std::int64_t n = weight.dim(0), k = weight.dim(1);
  Shape shape = x.shape;
  shape[x.rank() - 1] = n;
  Array y{shape, {}};
  const std::int64_t rows = numel(shape) / std::max<std::int64_t>(n, 1);
  for (std::int64_t i = 0; n > 0 && i < rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::span<const Number> row(x.at.data() + i * k, static_cast<std::size_t>(k));
      const std::span<const Number> column(weight.at.data() + j * k, static_cast<std::size_t>(k));
      y.at.push_back(bias.defined ? t.dot_from(bias[j], row, column, true) : t.dot(row, column, true));
    }
  }
  return y;
}

Array normalised(Tape& t, const Array& x, const Array* weight, const Array* bias, double eps, bool centre) {
  return along(x, -1, [&](std::vector<Number> row) {
    const double n = static_cast<double>(row.size());
    if (centre) {
      const Number mean = t.scale(t.sum(row), 1 / n);
      for (Number& v : row) v = t.sub(v, mean);
    }
    const Number root = t.sqrt(t.shift(t.scale(t.dot(row, row), 1 / n), eps));
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] = t.div(row[j], root);
      if (weight && weight->defined) row[j] = t.mul(row[j], weight->at[j]);
      if (bias && bias->defined) row[j] = t.add(row[j], bias->at[j]);
    }
    return row;
  });
}

std::vector<Number> softmax(Tape& t, const std::vector<Number>& row) {
  double largest = -INFINITY;
  for (Number x : row) largest = std::max(largest, t.value(x));
  std::vector<Number> y;
  if (largest == -INFINITY) {
    for (std::size_t j = 0; j < row.size(); ++j) y.push_back(t.constant(0));
    return y;
  }
  for (Number x : row) y.push_back(t.value(x) == -INFINITY ? t.constant(0) : t.exp(t.shift(x, -largest)));
  const Number total = t.sum(y);
  for (Number& e : y) e = t.div(e, total);
  return y;
}

Stored random_mask(Builder& b, const Shape& shape, double p) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& v : values) v = b.draw.chance(p);
  Stored mask = b.stored(shape, std::move(values), DType::boolean);
  if (b.draw.chance(0.1)) repeat_some_axes(b.draw, mask);
  return mask;
}

Stored random_indices(Builder& b, const Shape& shape, std::int64_t limit) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& v : values) v = static_cast<double>(b.draw.between(0, limit - 1));
  return b.stored(shape, std::move(values), DType::i32);
}

Stored keep_bits(Builder& b, std::int64_t n, double p) {
  std::vector<double> words(static_cast<std::size_t>((n + 31) / 32));
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint32_t bits = 0;
    for (int i = 0; i < 32; ++i)
      if (static_cast<std::int64_t>(w) * 32 + i < n && !b.draw.chance(p)) bits |= std::uint32_t{1} << i;
    words[w] = static_cast<std::int32_t>(bits);
  }
  return {{static_cast<std::int64_t>(words.size())}, std::move(words), DType::i32, {}};
}

bool kept(const Stored& bits, std::int64_t i) {
  const auto word = static_cast<std::uint32_t>(static_cast<std::int32_t>(at(bits, i / 32)));
  return word >> (i % 32) & 1;
}

const std::vector<Op>& all_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all;
    for (auto part : {unary_ops(), binary_ops(), mask_ops(), shape_ops(), piece_ops(), reduction_ops(),
                      index_ops(), row_ops(), norm_ops(), product_ops(), attention_ops()})
      for (Op& op : part) all.push_back(std::move(op));
    return all;
  }();
  return ops;
}

const Op& op_named(std::string_view name) {
  for (const Op& op : all_ops())
    if (name == op.name) return op;
  fail("differential", "there is no operation {}", name);
}

}  // namespace minigpt::differential
