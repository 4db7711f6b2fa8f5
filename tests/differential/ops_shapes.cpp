// The same elements under another shape, or in another order.
#include "autograd/ops/expand.h"
#include "autograd/ops/permute.h"
#include "autograd/ops/reshape.h"
#include "autograd/ops/squeeze.h"
#include "autograd/ops/transpose.h"
#include "autograd/ops/unsqueeze.h"
#include "tests/differential/plain.h"

namespace minigpt::differential {
namespace {

// Another shape for as many elements: axes are merged, split, inserted and dropped.
Shape regrouped(Builder& b, Shape shape) {
  for (int round = 0; round < 3; ++round) {
    const int rank = shape.size();
    const std::int64_t what = b.draw.between(0, 3);
    if (what == 0 && rank >= 2) {
      const int i = static_cast<int>(b.draw.between(0, rank - 2));
      shape[i] *= shape[i + 1];
      shape.erase(i + 1);
    } else if (what == 1 && rank >= 1 && rank < 6) {
      const int i = static_cast<int>(b.draw.between(0, rank - 1));
      std::vector<std::int64_t> divisors;
      for (std::int64_t d = 1; d <= 40; ++d)
        if (shape[i] > 0 && shape[i] % d == 0) divisors.push_back(d);
      if (divisors.empty()) continue;
      const std::int64_t d = b.draw.pick(divisors);
      shape[i] /= d;
      shape.insert(i + static_cast<int>(b.draw.between(0, 1)), d);
    } else if (what == 2 && rank < 6) {
      shape.insert(static_cast<int>(b.draw.between(0, rank)), 1);
    } else if (what == 3) {
      for (int i = 0; i < shape.size(); ++i)
        if (shape[i] == 1) {
          shape.erase(i);
          break;
        }
    }
  }
  return shape;
}

Attributes as_ints(const Dims& dims) { return {{dims.begin(), dims.end()}, {}, {}}; }

Array reshaped(const Array& x, Shape shape) {
  std::int64_t known = 1;
  for (std::int64_t e : shape) known *= e < 0 ? 1 : e;
  for (std::int64_t& e : shape)
    if (e < 0) e = x.numel() / known;
  return {shape, x.at};
}

Op regroup(const char* name, const Op::Library& library) {
  return {"reshape.h",
          name,
          [](Builder& b, const Op& op) {
            const int x = b.any();
            Shape shape = regrouped(b, b.shape(x));
            if (shape.size() > 0 && numel(shape) > 0 && b.draw.chance(0.3))
              shape[static_cast<int>(b.draw.between(0, shape.size() - 1))] = -1;
            b.apply(op, {x}, as_ints(shape));
          },
          library,
          [](Tape&, const Arrays& x, const Attributes& a) { return one(reshaped(x[0], a.dims())); },
          {}};
}

// A view where the strides allow one; where they do not, the error says so, and it is a reshape.
std::vector<Variable> view_or_reshape(const Variables& x, const Attributes& a) {
  try {
    return one(view(x[0], a.dims()));
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("reshape") == std::string_view::npos) throw;
    return one(reshape(x[0], a.dims()));
  }
}

Op flatten_op() {
  return {
      "reshape.h",
      "flatten",
      [](Builder& b, const Op& op) {
        const int x = b.like([&](int v) { return b.rank(v) >= 1; }, b.random_shape(2));
        const int r = b.rank(x);
        const std::int64_t first = b.draw.between(0, r - 1), last = b.draw.between(first, r - 1);
        b.apply(op, {x},
                {{first - (b.draw.chance(0.3) ? r : 0), last - (b.draw.chance(0.5) ? r : 0)}, {}, {}});
      },
      [](const Variables& x, const Attributes& a) { return one(flatten(x[0], a.integer(0), a.integer(1))); },
      [](Tape&, const Arrays& x, const Attributes& a) {
        const int first = front(a.integer(0), x[0].rank()), last = front(a.integer(1), x[0].rank());
        Shape shape;
        for (int i = 0; i < x[0].rank(); ++i) {
          if (i > first && i <= last)
            shape[first] *= x[0].dim(i);
          else
            shape.push_back(x[0].dim(i));
        }
        return one(Array{shape, x[0].at});
      },
      {}};
}

// The axes of y are axes order[0], order[1], ... of x.
Array permuted(const Array& x, const Dims& order) {
  Shape shape;
  for (std::int64_t axis : order) shape.push_back(x.dim(static_cast<int>(axis)));
  return filled(shape, [&](const Dims& index) {
    Dims from = index;
    for (int i = 0; i < order.size(); ++i) from[front(static_cast<int>(order[i]), x.rank())] = index[i];
    return at(x, from);
  });
}

Op permute_op() {
  return {"permute.h",
          "permute",
          [](Builder& b, const Op& op) {
            const int x = b.any(), r = b.rank(x);
            Dims order;
            for (int i = 0; i < r; ++i)
              order.insert(static_cast<int>(b.draw.between(0, i)), b.draw.chance(0.2) ? i - r : i);
            b.apply(op, {x}, as_ints(order));
          },
          [](const Variables& x, const Attributes& a) { return one(permute(x[0], a.dims())); },
          [](Tape&, const Arrays& x, const Attributes& a) { return one(permuted(x[0], a.dims())); },
          {}};
}

Op transpose_op() {
  return {"transpose.h",
          "transpose",
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.rank(v) >= 2; }, b.random_shape(2));
            b.apply(op, {x}, {{b.axis_of(x), b.axis_of(x)}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) {
            return one(transpose(x[0], a.integer(0), a.integer(1)));
          },
          [](Tape&, const Arrays& x, const Attributes& a) {
            Dims order;
            for (int i = 0; i < x[0].rank(); ++i) order.push_back(i);
            std::swap(order[front(a.integer(0), x[0].rank())], order[front(a.integer(1), x[0].rank())]);
            return one(permuted(x[0], order));
          },
          {}};
}

Op squeeze_op() {
  return {
      "squeeze.h",
      "squeeze",
      [](Builder& b, const Op& op) {
        const int x = b.like([&](int v) { return b.rank(v) >= 1 && b.shape(v).contains(1); }, {3, 1, 2, 1});
        Attributes a;
        if (b.draw.chance(0.7)) a.ints.push_back(b.axis_of(x));  // with another extent: nothing happens
        b.apply(op, {x}, a);
      },
      [](const Variables& x, const Attributes& a) {
        return one(a.ints.empty() ? squeeze(x[0]) : squeeze(x[0], a.integer(0)));
      },
      [](Tape&, const Arrays& x, const Attributes& a) {
        Shape shape;
        for (int i = 0; i < x[0].rank(); ++i) {
          const bool named = a.ints.empty() || front(a.integer(0), x[0].rank()) == i;
          if (x[0].dim(i) != 1 || !named) shape.push_back(x[0].dim(i));
        }
        return one(Array{shape, x[0].at});
      },
      {}};
}

Op unsqueeze_op() {
  return {"unsqueeze.h",
          "unsqueeze",
          [](Builder& b, const Op& op) {
            const int x = b.like([&](int v) { return b.rank(v) <= 5; }, {4});
            b.apply(op, {x}, {{b.draw.between(-b.rank(x) - 1, b.rank(x))}, {}, {}});
          },
          [](const Variables& x, const Attributes& a) { return one(unsqueeze(x[0], a.integer(0))); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            Shape shape = x[0].shape;
            shape.insert(front(a.integer(0), x[0].rank() + 1), 1);
            return one(Array{shape, x[0].at});
          },
          {}};
}

Op expand_op() {
  return {"expand.h",
          "expand",
          [](Builder& b, const Op& op) {
            const int x =
                b.like([&](int v) { return b.rank(v) <= 4 && b.array(v).numel() * 9 <= b.limit(); }, {1, 3});
            Dims to = b.shape(x);
            for (std::int64_t& e : to)
              if (e == 1 && b.draw.chance(0.7))
                e = b.draw.between(b.draw.chance(0.1) ? 0 : 1, 3);
              else if (b.draw.chance(0.3))
                e = -1;
            if (b.draw.chance(0.5)) to.insert(0, b.draw.between(1, 3));
            b.apply(op, {x}, as_ints(to));
          },
          [](const Variables& x, const Attributes& a) { return one(expand(x[0], a.dims())); },
          [](Tape&, const Arrays& x, const Attributes& a) {
            Shape shape = a.dims();
            for (int i = 0; i < shape.size(); ++i)
              if (shape[i] < 0) shape[i] = x[0].dim(i - shape.size() + x[0].rank());
            return one(filled(shape, [&](const Dims& i) { return at(x[0], i); }));
          },
          {}};
}

}  // namespace

std::vector<Op> shape_ops() {
  return {regroup("reshape",
                  [](const Variables& x, const Attributes& a) { return one(reshape(x[0], a.dims())); }),
          regroup("view", view_or_reshape),
          flatten_op(),
          permute_op(),
          transpose_op(),
          squeeze_op(),
          unsqueeze_op(),
          expand_op()};
}

}  // namespace minigpt::differential
