// Parts of tensors, and tensors put together.
#include "autograd/ops/concat.h"
#include "autograd/ops/select.h"
#include "autograd/ops/slice.h"
#include "autograd/ops/split.h"
#include "autograd/ops/stack.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

int with_axes(Builder& b) {
  return b.like([&](int v) { return b.rank(v) >= 1; },
                b.random_shape(static_cast<int>(b.draw.between(1, 3))));
}

// `count` elements from `start` on, `step` apart, along an axis.
Array stretch(const Array& x, int axis, std::int64_t start, std::int64_t count, std::int64_t step) {
  Shape shape = x.shape;
  shape[axis] = count;
  return filled(shape, [&](const Dims& index) {
    Dims from = index;
    from[axis] = start + index[axis] * step;
    return at(x, from);
  });
}

Op slice_op() {
  return {"slice.h",
          "slice",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            const std::int64_t n = b.array(x).dim(axis);
            std::int64_t start = b.draw.between(0, n), end = b.draw.between(start, n);
            if (b.draw.chance(0.8) && start == end) start = 0, end = n;
            if (b.draw.chance(0.3)) start -= n;  // counted from the end
            if (b.draw.chance(0.2))
              end = n + 5;  // cut off
            else if (b.draw.chance(0.3) && end < n)
              end -= n;
            b.apply(op, {x}, {{axis, start, end, b.draw.between(1, 3)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(slice(x[0], a.integer(0), a.ints[1], a.ints[2], a.ints[3]));
          },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank());
            const std::int64_t n = x[0].dim(axis), step = a.ints[3];
            const auto bound = [n](std::int64_t i) {
              return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n);
            };
            const std::int64_t start = bound(a.ints[1]), end = std::max(bound(a.ints[2]), start);
            return one(stretch(x[0], axis, start, (end - start + step - 1) / step, step));
          },
          {}};
}

Op pad_op() {
  return {"slice.h",
          "pad",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = front(b.axis_of(x), b.rank(x));
            const std::int64_t n = b.shape(x)[axis], step = b.draw.between(1, 3),
                               start = b.draw.between(0, 3);
            Shape shape = b.shape(x);
            shape[axis] =
                n == 0 ? b.draw.between(0, 3) + start : start + (n - 1) * step + 1 + b.draw.between(0, 4);
            Attributes a{{axis, start, step}, {}, {}};
            a.ints.insert(a.ints.end(), shape.begin(), shape.end());
            b.apply(op, {x}, a);
          },
          [](const Variables& x, const Attributes& a) {
            return one(pad(x[0], a.dims(3), a.integer(0), a.ints[1], a.ints[2]));
          },
          [](Tape& t, const Arrays& x, const Attributes& a) {
            const int axis = a.integer(0);
            return one(filled(a.dims(3), [&](const Dims& index) {
              const std::int64_t i = index[axis] - a.ints[1];
              if (i < 0 || i % a.ints[2] != 0 || i / a.ints[2] >= x[0].dim(axis)) return t.constant(0);
              Dims from = index;
              from[axis] = i / a.ints[2];
              return at(x[0], from);
            }));
          },
          {}};
}

Op select_op() {
  return {"select.h",
          "select",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            const std::int64_t n = b.array(x).dim(axis);
            if (n > 0) b.apply(op, {x}, {{axis, b.draw.between(-n, n - 1)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(select(x[0], a.integer(0), a.ints[1])); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank());
            const std::int64_t n = x[0].dim(axis);
            Array y = stretch(x[0], axis, a.ints[1] < 0 ? a.ints[1] + n : a.ints[1], 1, 1);
            y.shape.erase(axis);
            return one(y);
          },
          {}};
}

std::vector<Array> pieces(const Array& x, int axis, const std::vector<std::int64_t>& sizes) {
  std::vector<Array> out;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    out.push_back(stretch(x, front(axis, x.rank()), start, size, 1));
    start += size;
  }
  return out;
}

// With a list of sizes.
Op split_op() {
  return {"split.h",
          "split",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            Attributes a{{axis}, {}, {}};
            std::int64_t left = b.array(x).dim(axis);
            while (a.ints.size() < 3 && b.draw.chance(0.7)) {
              a.ints.push_back(b.draw.between(0, left));
              left -= a.ints.back();
            }
            a.ints.push_back(left);
            b.apply(op, {x}, a);
          },
          [](const Variables& x, const Attributes& a) {
            return split(x[0], std::vector<std::int64_t>(a.ints.begin() + 1, a.ints.end()), a.integer(0));
          },
          [](Tape&, const Arrays& x, const Attributes& a) {
            return pieces(x[0], a.integer(0), {a.ints.begin() + 1, a.ints.end()});
          },
          {}};
}

// Into equal pieces, with a shorter one at the end.
Op split_evenly_op() {
  return {"split.h",
          "split evenly",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            const std::int64_t n = b.array(x).dim(axis);
            if (n > 0) b.apply(op, {x}, {{axis, b.draw.between((n + 3) / 4, n)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return split(x[0], a.ints[1], a.integer(0)); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            std::vector<std::int64_t> sizes;
            for (std::int64_t left = x[0].dim(a.integer(0)); left > 0; left -= a.ints[1])
              sizes.push_back(std::min(left, a.ints[1]));
            return pieces(x[0], a.integer(0), sizes);
          },
          {}};
}

Op concat_op() {
  return {"concat.h",
          "concat",
          [](Builder& b, const Op& op) {
            const int x = with_axes(b), axis = b.axis_of(x);
            std::vector<int> parts = {x};
            while (parts.size() < 4 && b.draw.chance(0.6)) {
              Shape shape = b.shape(x);
              if (b.draw.chance(0.5)) shape[front(axis, b.rank(x))] = b.draw.between(0, 5);
              parts.push_back(b.draw.chance(0.15) ? x : b.of_shape(shape));
            }
            b.apply(op, parts, {{axis}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(concat(x, a.integer(0))); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank());
            Shape shape = x[0].shape;
            shape[axis] = 0;
            for (const Array& part : x) shape[axis] += part.dim(axis);
            return one(filled(shape, [&](const Dims& index) {
              Dims i = index;
              std::size_t part = 0;
              while (i[axis] >= x[part].dim(axis)) i[axis] -= x[part++].dim(axis);
              return at(x[part], i);
            }));
          },
          {}};
}

Op stack_op() {
  return {"stack.h",
          "stack",
          [](Builder& b, const Op& op) {
            const int x =
                b.like([&](int v) { return b.rank(v) < 5 && b.array(v).numel() * 4 <= b.limit(); }, {2, 3});
            std::vector<int> parts = {x};
            while (parts.size() < 4 && b.draw.chance(0.6))
              parts.push_back(b.draw.chance(0.15) ? x : b.of_shape(b.shape(x)));
            b.apply(op, parts, {{b.draw.between(-b.rank(x) - 1, b.rank(x))}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(stack(x, a.integer(0))); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            const int axis = front(a.integer(0), x[0].rank() + 1);
            Shape shape = x[0].shape;
            shape.insert(axis, static_cast<std::int64_t>(x.size()));
            return one(filled(shape, [&](const Dims& index) {
              Dims i = index;
              i.erase(axis);
              return at(x[static_cast<std::size_t>(index[axis])], i);
            }));
          },
          {}};
}

}  // namespace

std::vector<Op> piece_ops() {
  return {slice_op(), pad_op(), select_op(), split_op(), split_evenly_op(), concat_op(), stack_op()};
}

}  // namespace minigpt::differential
