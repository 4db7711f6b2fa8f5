#include "tests/differential/builder.h"

#include <algorithm>
#include <cmath>

namespace minigpt::differential {
namespace {

// Around the widths of vectors, and the small numbers where loops begin and end.
const std::vector<std::int64_t> kExtents = {1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33};
const std::vector<std::int64_t> kLargeExtents = {1, 2, 3, 7, 16, 33, 64, 100, 129, 257, 400, 1025, 2051};

}  // namespace

Builder::Builder(std::uint64_t seed, bool is_large)
    : draw(seed), large(is_large), tape_(Rounding{.unit = 0x1p-24}) {
  expression_.seed = seed;
}

Builder::Range Builder::range(int value) const {
  Range r{0, 0};
  bool first = true;
  for (Number n : array(value).at) {
    const double v = tape_.value(n);
    r = first ? Range{v, v} : Range{std::min(r.low, v), std::max(r.high, v)};
    first = false;
  }
  return r;
}

std::int64_t Builder::extent(bool may_be_zero) {
  if (may_be_zero && draw.chance(0.015)) return 0;
  return draw.pick(large && draw.chance(0.7) ? kLargeExtents : kExtents);
}

Shape Builder::random_shape(int rank, bool may_be_zero) {
  if (rank < 0) rank = static_cast<int>(draw.pick(std::vector<std::int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 4}));
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(extent(may_be_zero));
  if (large && rank == 1 && draw.chance(0.5)) shape[0] = draw.between(30000, 80000);
  while (room(shape) > limit()) {
    std::int64_t& widest = *std::max_element(shape.begin(), shape.end());
    widest = (widest + 1) / 2;
  }
  return shape;
}

Shape Builder::random_rows() {
  Shape shape = random_shape(2);
  shape[1] = std::max<std::int64_t>(shape[1], 1);
  return shape;
}

int Builder::axis_of(int value) {
  const int r = rank(value);
  return static_cast<int>(draw.between(-r, r - 1));
}

Dims Builder::axes_of(int value) {
  Dims axes;
  const int r = rank(value);
  for (int i = 0; i < r; ++i)
    if (draw.chance(0.5))
      axes.insert(static_cast<int>(draw.between(0, axes.size())), draw.chance(0.3) ? i - r : i);
  return axes;
}

Stored Builder::stored(const Shape& shape, std::vector<double> values, DType dtype) {
  return {shape, std::move(values), dtype, random_layout(draw, shape)};
}

int Builder::leaf(const Shape& shape, double low, double high) {
  // Numbers on a grid are often equal, which is where the rules for ties are.
  const bool grid = draw.chance(0.15) && high - low >= 2;
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& v : values) {
    v = draw.uniform(low, high);
    v = grid ? std::ceil(low) +
                   std::floor((v - low) / (high - low) * 2 * (std::floor(high) - std::ceil(low)) + 0.5) / 2
             : static_cast<double>(static_cast<float>(v));
  }
  Leaf leaf{stored(shape, std::move(values), DType::f32)};
  leaf.wants_gradient = draw.chance(0.85);
  if (draw.chance(0.08)) repeat_some_axes(draw, leaf.stored);
  const bool writable = leaf.stored.layout.repeated.empty();
  if (draw.chance(0.2) && writable) leaf.edit = static_cast<Edit>(draw.between(1, 4));
  Array a{shape, {}};
  for (double v : leaf.stored.values) a.at.push_back(tape_.constant(v));
  leaf.value = add_value(std::move(a));
  expression_.leaves.push_back(std::move(leaf));
  return expression_.leaves.back().value;
}

int Builder::any() {
  if (expression_.values == 0 || draw.chance(0.1)) return leaf(random_shape());
  return *find([](int) { return true; });
}

int Builder::of_shape(const Shape& wanted) {
  if (const auto v = find([&](int i) { return shape(i) == wanted; }); v && draw.chance(0.7)) return *v;
  const std::int64_t n = numel(wanted);
  if (n > 0 && n <= 4000 && draw.chance(0.35)) {
    if (const auto v = find([&](int i) { return array(i).numel() > 0; })) {
      // Some of its elements, by number.
      const auto flat = apply(op_named("reshape"), {*v}, {{-1}, {}, {}});
      std::vector<double> numbers(static_cast<std::size_t>(n));
      for (double& i : numbers) i = static_cast<double>(draw.between(0, array(*v).numel() - 1));
      const auto picked =
          flat ? apply(op_named("index_select"), {*flat}, {{0}, {}, {stored({n}, numbers, DType::i32)}})
               : flat;
      Attributes to;
      to.ints.assign(wanted.begin(), wanted.end());
      const auto shaped = picked ? apply(op_named("reshape"), {*picked}, to) : picked;
      if (shaped) return *shaped;
    }
  }
  return leaf(wanted);
}

int Builder::within(int value, double low, double high) {
  const Range r = range(value);
  if (r.low >= low && r.high <= high) return value;
  const auto s = apply(op_named("sigmoid"), {value});
  const auto wide = s ? apply(op_named("mul scalar"), {*s}, {{}, {high - low}, {}}) : s;
  const auto y = wide ? apply(op_named("add scalar"), {*wide}, {{}, {low}, {}}) : wide;
  return y ? *y : leaf(shape(value), low, high);
}

int Builder::broadcasting_with(int value) {
  const Shape& s = shape(value);
  const auto fits = [&](int other) {
    const Shape& o = shape(other);
    std::int64_t count = 1;
    for (int i = 1; i <= std::max(s.size(), o.size()); ++i) {
      const std::int64_t a = i <= s.size() ? s[s.size() - i] : 1, b = i <= o.size() ? o[o.size() - i] : 1;
      if (a != b && a != 1 && b != 1) return false;
      count *= std::max<std::int64_t>(a == 1 ? b : a, 1);
    }
    return count <= limit();
  };
  if (const auto v = find(fits); v && draw.chance(0.6)) return *v;
  Shape other;
  const int dropped = draw.chance(0.4) && s.size() > 0 ? static_cast<int>(draw.between(0, s.size())) : 0;
  for (int i = dropped; i < s.size(); ++i) other.push_back(draw.chance(0.3) ? 1 : s[i]);
  // The other one may also be the larger.
  if (draw.chance(0.3)) {
    Shape wider = s;
    for (std::int64_t& e : wider)
      if (e == 1) e = extent();
    if (wider.size() < 4 && draw.chance(0.5)) wider.insert(0, draw.between(1, 3));
    if (room(wider) <= limit()) other = wider;
  }
  return of_shape(other);
}

int Builder::add_value(Array array) {
  values_.push_back(std::move(array));
  return expression_.values++;
}

std::optional<int> Builder::apply(const Op& op, std::vector<int> operands, Attributes attributes) {
  std::vector<Array> inputs;
  for (int o : operands) inputs.push_back(o < 0 ? Array{{}, {}, false} : array(o));
  std::vector<Array> results = op.plain(tape_, inputs, attributes);
  for (const Array& r : results)
    for (Number n : r.at) {
      const double v = tape_.value(n);
      if (!std::isfinite(v) || std::abs(v) > 1e3 || tape_.error(n) > 1e-3 * std::max(1.0, std::abs(v)))
        return std::nullopt;
    }
  Step step{&op, std::move(operands), std::move(attributes), {}};
  for (Array& r : results) step.results.push_back(add_value(std::move(r)));
  expression_.steps.push_back(std::move(step));
  return expression_.steps.back().results.front();
}

std::vector<int> Builder::unused() const {
  std::vector<bool> used(static_cast<std::size_t>(expression_.values), false);
  for (const Step& step : expression_.steps)
    for (int o : step.operands)
      if (o >= 0) used[static_cast<std::size_t>(o)] = true;
  std::vector<int> out;
  for (const Step& step : expression_.steps)
    for (int r : step.results)
      if (!used[static_cast<std::size_t>(r)]) out.push_back(r);
  return out;
}

Expression Builder::finish() {
  if (std::none_of(expression_.leaves.begin(), expression_.leaves.end(),
                   [](const Leaf& l) { return l.wants_gradient; }))
    expression_.leaves.front().wants_gradient = true;
  // Every result that nothing else uses, and now and then one that is used as well.
  std::vector<int> roots = unused();
  if (expression_.values > 2 && draw.chance(0.2)) roots.push_back(*find([](int) { return true; }));
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  for (int r : roots) {
    std::vector<double> gradient(array(r).at.size());
    for (double& g : gradient) g = static_cast<double>(static_cast<float>(draw.uniform(-1, 1)));
    Root root{r, stored(shape(r), std::move(gradient), DType::f32)};
    if (draw.chance(0.15)) repeat_some_axes(draw, root.gradient);
    expression_.roots.push_back(std::move(root));
  }
  expression_.bf16_products = draw.chance(0.05);
  return std::move(expression_);
}

}  // namespace minigpt::differential
