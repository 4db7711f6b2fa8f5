// Elementwise and row-wise kernels, each on arrays that touch a guard page.
#include "tests/tensor/kernels/guard_pages.h"

namespace minigpt::testing {
namespace {

template <class T>
void guard_unary(GuardPages& pages) {
  const UnaryKernels<T>& k = kernels<T>().unary;
  const auto forward = [&](const typename UnaryKernels<T>::Forward& f, const char* name) {
    for (const std::int64_t n : guarded_lengths()) {
      const T* x = pages.memory.input<T>("x", n);
      T* y = pages.memory.output<T>("y", n);
      pages.run(f, name, {{"n", n}}, [&] { f(x, y, n); });
    }
  };
  const auto backward = [&](const typename UnaryKernels<T>::Backward& f, const char* name) {
    for (const std::int64_t n : guarded_lengths()) {
      const T* x = pages.memory.input<T>("x", n);
      const T* dy = pages.memory.input<T>("dy", n);
      T* dx = pages.memory.output<T>("dx", n);
      pages.run(f, name, {{"n", n}}, [&] { f(x, dy, dx, n); });
    }
  };
  forward(k.exp, "exp");
  forward(k.log, "log");
  forward(k.tanh, "tanh");
  forward(k.erf, "erf");
  forward(k.sigmoid, "sigmoid");
  forward(k.sqrt, "sqrt");
  forward(k.reciprocal, "reciprocal");
  forward(k.neg, "neg");
  forward(k.abs, "abs");
  forward(k.square, "square");
  forward(k.relu, "relu");
  forward(k.silu, "silu");
  forward(k.gelu_erf, "gelu_erf");
  forward(k.gelu_tanh, "gelu_tanh");
  backward(k.relu_backward, "relu_backward");
  backward(k.silu_backward, "silu_backward");
  backward(k.gelu_erf_backward, "gelu_erf_backward");
  backward(k.gelu_tanh_backward, "gelu_tanh_backward");
}

template <class T>
void guard_binary(GuardPages& pages) {
  const BinaryKernels<T>& k = kernels<T>().binary;
  // An operand with step 0 has one element, and none may be read of an empty row.
  const auto length = [](std::int64_t n, std::int64_t step) { return n == 0 ? 0 : step == 0 ? 1 : n; };
  const auto two = [&](const auto& f, const char* name, auto* result_type) {
    using Out = std::remove_pointer_t<decltype(result_type)>;
    for (const std::int64_t n : guarded_lengths())
      for (const std::int64_t a_step : {0, 1})
        for (const std::int64_t b_step : {0, 1}) {
          const T* a = pages.memory.input<T>("a", length(n, a_step));
          const T* b = pages.memory.input<T>("b", length(n, b_step));
          Out* out = pages.memory.output<Out>("out", n);
          pages.run(f, name, {{"n", n}, {"a_step", a_step}, {"b_step", b_step}},
                    [&] { f(a, a_step, b, b_step, out, n); });
        }
  };
  T* number = nullptr;
  bool* truth = nullptr;
  two(k.add, "add", number);
  two(k.sub, "sub", number);
  two(k.mul, "mul", number);
  two(k.div, "div", number);
  two(k.maximum, "maximum", number);
  two(k.minimum, "minimum", number);
  two(k.less, "less", truth);
  two(k.less_equal, "less_equal", truth);
  two(k.equal, "equal", truth);
  two(k.not_equal, "not_equal", truth);
  two(k.greater, "greater", truth);
  two(k.greater_equal, "greater_equal", truth);
  for (const std::int64_t n : guarded_lengths()) {
    T* y = pages.memory.output<T>("y", n);
    const T* x = pages.memory.input<T>("x", n);
    pages.run(k.add_scaled, "add_scaled", {{"n", n}}, [&] { k.add_scaled(y, x, T(0.5), n); });
    const T* v = pages.memory.input<T>("x", n);
    T* out = pages.memory.output<T>("out", n);
    pages.run(k.clamp, "clamp", {{"n", n}}, [&] { k.clamp(v, T(0), T(0.5), out, n); });
    for (int steps = 0; steps < 8; ++steps) {
      const std::int64_t c_step = steps & 1, a_step = steps >> 1 & 1, b_step = steps >> 2;
      const bool* c =
          pages.memory.input<bool>("c", length(n, c_step), [](std::int64_t i) { return i % 3 == 0; });
      const T* a = pages.memory.input<T>("a", length(n, a_step));
      const T* b = pages.memory.input<T>("b", length(n, b_step));
      T* chosen = pages.memory.output<T>("out", n);
      pages.run(k.where, "where", {{"n", n}, {"c_step", c_step}, {"a_step", a_step}, {"b_step", b_step}},
                [&] { k.where(c, c_step, a, a_step, b, b_step, chosen, n); });
    }
  }
}

template <class T>
void guard_reduce(GuardPages& pages) {
  const ReduceKernels<T>& k = kernels<T>().reduce;
  std::vector<std::int64_t> lengths = guarded_lengths();
  lengths.push_back(4096 + 3);  // all_finite looks at blocks of 4096
  for (const std::int64_t n : lengths) {
    const auto row = [&](const auto& f, const char* name, auto call) {
      const T* x = pages.memory.input<T>("x", n);
      pages.run(f, name, {{"n", n}}, [&] { (void)call(x); });
    };
    row(k.sum, "sum", [&](const T* x) { return k.sum(x, n); });
    row(k.sum_squared_deviations, "sum_squared_deviations",
        [&](const T* x) { return k.sum_squared_deviations(x, T(0.5), n); });
    row(k.sum_of_squares, "sum_of_squares", [&](const T* x) { return k.sum_of_squares(x, n); });
    if (n > 0) row(k.max, "max", [&](const T* x) { return k.max(x, n); });
    if (n > 0) row(k.min, "min", [&](const T* x) { return k.min(x, n); });
    row(k.find, "find", [&](const T* x) { return k.find(x, T(99), n); });
    row(k.all_finite, "all_finite", [&](const T* x) { return k.all_finite(x, n); });
    for (const std::int64_t rows : {0, 1, 3, 67})
      for (const std::int64_t gap : {0, 5}) {
        if (rows * (n + gap) > 20000) continue;
        const std::int64_t stride = n + gap;
        const T* x = pages.memory.input<T>("x", rows == 0 ? 0 : (rows - 1) * stride + n);
        T* out = pages.memory.output<T>("out", n);
        pages.run(k.sum_columns, "sum_columns", {{"rows", rows}, {"columns", n}, {"stride", stride}},
                  [&] { k.sum_columns(x, rows, stride, 3.0, out, n); });
      }
  }
}

template <class T>
void guard_softmax(GuardPages& pages) {
  const RowsKernels<T>& k = kernels<T>().rows;
  for (const std::int64_t rows : {1, 3})
    for (const std::int64_t n : guarded_lengths()) {
      const auto forward = [&](const auto& f, const char* name) {
        const T* x = pages.memory.input<T>("x", rows * n);
        T* y = pages.memory.output<T>("y", rows * n);
        pages.run(f, name, {{"rows", rows}, {"n", n}}, [&] { f(x, y, rows, n); });
      };
      const auto backward = [&](const auto& f, const char* name) {
        const T* y = pages.memory.input<T>("y", rows * n);
        const T* dy = pages.memory.input<T>("dy", rows * n);
        T* dx = pages.memory.output<T>("dx", rows * n);
        pages.run(f, name, {{"rows", rows}, {"n", n}}, [&] { f(y, dy, dx, rows, n); });
      };
      forward(k.softmax, "softmax");
      forward(k.log_softmax, "log_softmax");
      backward(k.softmax_backward, "softmax_backward");
      backward(k.log_softmax_backward, "log_softmax_backward");
    }
}

template <class T>
void guard_norms(GuardPages& pages) {
  const NormsKernels<T>& k = kernels<T>().norms;
  for (const std::int64_t rows : {1, 3})
    for (const std::int64_t n : guarded_lengths())
      for (const bool affine : {false, true}) {
        const GuardPages::Sizes sizes = {{"rows", rows}, {"n", n}, {"affine", affine}};
        const auto in = [&](const char* name, std::int64_t count) {
          return pages.memory.input<T>(name, count);
        };
        const auto out = [&](const char* name, std::int64_t count) {
          return pages.memory.output<T>(name, count);
        };
        const auto in_n = [&](const char* name) { return affine ? in(name, n) : nullptr; };
        const auto out_n = [&](const char* name) { return affine ? out(name, n) : nullptr; };
        const std::int64_t all = rows * n;
        {
          const T *x = in("x", all), *weight = in_n("weight"), *bias = in_n("bias");
          T *y = out("y", all), *mean = out("mean", rows), *rstd = out("rstd", rows);
          pages.run(k.layer_norm, "layer_norm", sizes,
                    [&] { k.layer_norm(x, weight, bias, 1e-5, y, mean, rstd, rows, n); });
        }
        {
          const T *x = in("x", all), *mean = in("mean", rows), *rstd = in("rstd", rows),
                  *weight = in_n("weight");
          const T* dy = in("dy", all);
          T *dx = out("dx", all), *dweight = out_n("dweight"), *dbias = out_n("dbias");
          pages.run(k.layer_norm_backward, "layer_norm_backward", sizes,
                    [&] { k.layer_norm_backward(x, mean, rstd, weight, dy, dx, dweight, dbias, rows, n); });
        }
        {
          const T *x = in("x", all), *weight = in_n("weight");
          T *y = out("y", all), *rrms = out("rrms", rows);
          pages.run(k.rms_norm, "rms_norm", sizes, [&] { k.rms_norm(x, weight, 1e-5, y, rrms, rows, n); });
        }
        {
          const T *x = in("x", all), *rrms = in("rrms", rows), *weight = in_n("weight"), *dy = in("dy", all);
          T *dx = out("dx", all), *dweight = out_n("dweight");
          pages.run(k.rms_norm_backward, "rms_norm_backward", sizes,
                    [&] { k.rms_norm_backward(x, rrms, weight, dy, dx, dweight, rows, n); });
        }
      }
}

template <class T>
void guard_loss(GuardPages& pages) {
  const LossKernels<T>& k = kernels<T>().loss;
  constexpr std::int32_t kIgnore = -100;
  for (const std::int64_t rows : {1, 5})
    for (const std::int64_t n : guarded_lengths()) {
      if (n == 0) continue;  // there is no target then
      // The first class, the last one, and a row that is left out.
      const auto target = [n](std::int64_t i) { return i % 3 == 2 ? kIgnore : i % 3 == 1 ? n - 1 : 0; };
      const std::int64_t all = rows * n;
      const T* logits = pages.memory.input<T>("logits", all);
      const auto* targets = pages.memory.input<std::int32_t>("targets", rows, target);
      T *losses = pages.memory.output<T>("losses", rows), *stats = pages.memory.output<T>("stats", 2 * rows);
      pages.run(k.cross_entropy, "cross_entropy", {{"rows", rows}, {"n", n}},
                [&] { k.cross_entropy(logits, targets, kIgnore, losses, stats, rows, n); });
      for (const std::int64_t step : {0, 1}) {
        logits = pages.memory.input<T>("logits", all);
        targets = pages.memory.input<std::int32_t>("targets", rows, target);
        const T* old = pages.memory.input<T>("stats", 2 * rows);
        const T* dlosses = pages.memory.input<T>("dlosses", step == 0 ? 1 : rows);
        T* dlogits = pages.memory.output<T>("dlogits", all);
        pages.run(k.cross_entropy_backward, "cross_entropy_backward",
                  {{"rows", rows}, {"n", n}, {"step", step}}, [&] {
                    k.cross_entropy_backward(logits, targets, kIgnore, old, dlosses, step, dlogits, rows, n);
                  });
      }
    }
}

template <class T>
void guard_optimizer(GuardPages& pages) {
  const OptimizerKernels<T>& k = kernels<T>().optimizer;
  const AdamConstants<T> c{1, T(0.9), T(0.1), T(0.9), T(0.99), T(0.1), T(0.01), 1, T(1e-8), T(-0.1)};
  for (const std::int64_t n : guarded_lengths()) {
    const T* g = pages.memory.input<T>("g", n);
    T *w = pages.memory.output<T>("w", n), *m = pages.memory.output<T>("m", n),
      *v = pages.memory.output<T>("v", n);
    pages.run(k.adam, "adam", {{"n", n}}, [&] { k.adam(w, g, m, v, n, c); });
  }
}

}  // namespace

template <class T>
void guard_rows(GuardPages& pages) {
  guard_unary<T>(pages);
  guard_binary<T>(pages);
  guard_reduce<T>(pages);
  guard_softmax<T>(pages);
  guard_norms<T>(pages);
  guard_loss<T>(pages);
  guard_optimizer<T>(pages);
}

template void guard_rows<float>(GuardPages&);
template void guard_rows<double>(GuardPages&);

}  // namespace minigpt::testing
