// Elements, rows and slices by number, and their transposes.
#include "autograd/ops/embedding.h"
#include "autograd/ops/gather.h"
#include "autograd/ops/index_select.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

int with_axes(Builder& b) {
  return b.like([&](int v) { return b.rank(v) >= 1; },
                b.random_shape(static_cast<int>(b.draw.between(1, 3))));
}

// Adds every element of src to the place in `shape` that to(index) names.
template <class To>
Array scattered(Tape& t, const Array& src, const Shape& shape, To&& to) {
  std::vector<std::vector<Number>> parts(static_cast<std::size_t>(numel(shape)));
  for_each_index(src.shape, [&](const Dims& index, std::int64_t n) {
    parts[static_cast<std::size_t>(flat_index(to(index), shape))].push_back(src[n]);
  });
  Array y{shape, {}};
  for (const auto& part : parts) y.at.push_back(t.sum(part));
  return y;
}

// `index` with the number that `numbers` has there along `axis`.
Dims redirected(Dims index, int axis, const Stored& numbers) {
  const double to = at(numbers, index);
  index[axis] = static_cast<std::int64_t>(to);
  return index;
}

Op gather_op() {
  return {"gather.h",
          "gather",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            Shape shape = b.shape(x);
            for (std::int64_t& e : shape)
              if (e > 0 && b.draw.chance(0.3)) e = b.draw.between(1, e);
            const std::int64_t n = b.array(x).dim(axis);
            shape[front(axis, b.rank(x))] = n == 0 ? 0 : b.draw.between(0, std::min<std::int64_t>(2 * n, 12));
            b.apply(op, {x}, {{axis}, {}, {random_indices(b, shape, std::max<std::int64_t>(n, 1))}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(gather(x[0], a.integer(0), a.tensors[0].tensor()));
          },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank());
            return one(filled(a.tensors[0].shape, [&](const Dims& index) {
              return at(x[0], redirected(index, axis, a.tensors[0]));
            }));
          },
          {}};
}

// ints: axis, then the shape of the result.
Op scatter_add_op() {
  return {"gather.h",
          "scatter_add",
          [](Builder& b, const Op& op) {
            const int src = with_axes(b), axis = front(b.axis_of(src), b.rank(src));
            Shape shape = b.shape(src);
            for (std::int64_t& e : shape) e += b.draw.chance(0.3) ? b.draw.between(0, 2) : 0;
            shape[axis] = b.draw.between(1, 6);
            if (room(shape) > b.limit()) return;
            Attributes a{{axis}, {}, {random_indices(b, b.shape(src), shape[axis])}};
            a.ints.insert(a.ints.end(), shape.begin(), shape.end());
            b.apply(op, {src}, a);
          },
          [](const Variables& x, const Attributes& a) {
            return one(scatter_add(a.dims(1), a.integer(0), a.tensors[0].tensor(), x[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(scattered(t, x[0], a.dims(1), [&](const Dims& index) {
              return redirected(index, a.integer(0), a.tensors[0]);
            }));
          },
          {}};
}

Op index_select_op() {
  return {"index_select.h",
          "index_select",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            const std::int64_t n = b.array(x).dim(axis);
            const std::int64_t count = n == 0 ? 0 : b.draw.between(0, std::min<std::int64_t>(2 * n, 20));
            b.apply(op, {x}, {{axis}, {}, {random_indices(b, {count}, std::max<std::int64_t>(n, 1))}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(index_select(x[0], a.integer(0), a.tensors[0].tensor()));
          },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank());
            Shape shape = x[0].shape;
            shape[axis] = a.tensors[0].shape[0];
            return one(filled(shape, [&](Dims index) {
              index[axis] = static_cast<std::int64_t>(at(a.tensors[0], index[axis]));
              return at(x[0], index);
            }));
          },
          {}};
}

Op index_add_op() {
  return {"index_select.h",
          "index_add",
          [](Builder& b, const Op& op) {
            const int src = with_axes(b), axis = front(b.axis_of(src), b.rank(src));
            Shape shape = b.shape(src);
            shape[axis] = b.draw.between(1, 6);
            if (room(shape) > b.limit()) return;
            Attributes a{{axis}, {}, {random_indices(b, {b.shape(src)[axis]}, shape[axis])}};
            a.ints.insert(a.ints.end(), shape.begin(), shape.end());
            b.apply(op, {src}, a);
          },
          [](const Variables& x, const Attributes& a) {
            return one(index_add(a.dims(1), a.integer(0), a.tensors[0].tensor(), x[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(scattered(t, x[0], a.dims(1), [&](Dims index) {
              index[a.integer(0)] = static_cast<std::int64_t>(at(a.tensors[0], index[a.integer(0)]));
              return index;
            }));
          },
          {}};
}

// Row index[...] of a table, for indices of any shape.
Op embedding_op() {
  return {"embedding.h",
          "embedding",
          [](Builder& b, const Op& op) {
            const int w = b.like([&](int v) { return b.rank(v) == 2 && b.shape(v)[0] > 0; },
                                 {b.extent(false), b.extent(false)});
            const Shape shape =
                b.draw.chance(0.1) ? Shape{} : b.random_shape(static_cast<int>(b.draw.between(1, 3)));
            if (room(shape) * b.shape(w)[1] > b.limit()) return;
            Attributes a{{}, {}, {random_indices(b, shape, b.shape(w)[0])}};
            if (b.draw.chance(0.3)) a.ints.push_back(b.draw.between(0, b.shape(w)[0] - 1));  // padding
            b.apply(op, {w}, a);
          },
          [](const Variables& x, const Attributes& a) {
            const Tensor index = a.tensors[0].tensor();
            return one(a.ints.empty() ? embedding(x[0], index) : embedding(x[0], index, a.ints[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            Array y{a.tensors[0].shape, {}};
            const std::int64_t c = x[0].dim(1);
            y.shape.push_back(c);
            for (double row : a.tensors[0].values)
              for (std::int64_t j = 0; j < c; ++j) {
                const Number v = x[0][static_cast<std::int64_t>(row) * c + j];
                // A padding row has its value, and no gradient.
                const bool padding = !a.ints.empty() && row == static_cast<double>(a.ints[0]);
                y.at.push_back(padding ? t.detached(v) : v);
              }
            return one(y);
          },
          {}};
}

Op embedding_backward_op() {
  return {"embedding.h",
          "embedding_backward",
          [](Builder& b, const Op& op) {
            const int dy = with_axes(b);
            const Shape& s = b.shape(dy);
            const std::int64_t rows = b.draw.between(1, 9);
            if (rows * s.back() > b.limit()) return;
            b.apply(op, {dy}, {{rows}, {}, {random_indices(b, Shape(s.begin(), s.end() - 1), rows)}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(embedding_backward(x[0], a.tensors[0].tensor(), a.ints[0]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            return one(scattered(t, x[0], {a.ints[0], x[0].dim(-1)}, [&](const Dims& index) {
              Dims row = index;
              row.erase(index.size() - 1);
              return Dims{static_cast<std::int64_t>(at(a.tensors[0], row)), index.back()};
            }));
          },
          {}};
}

}  // namespace

std::vector<Op> index_ops() {
  return {gather_op(),    scatter_add_op(), index_select_op(),
          index_add_op(), embedding_op(),   embedding_backward_op()};
}

}  // namespace minigpt::differential
