// Compiled once per instruction set. binary.h says what each kernel computes.
#include "tensor/kernels/binary.h"

#include "tensor/simd/map.h"

namespace minigpt::MINIGPT_ISA {
namespace {

// One functor per operation, over registers.
struct Add {
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};
struct Sub {
  template <class V>
  V operator()(V a, V b) const {
    return a - b;
  }
};
struct Mul {
  template <class V>
  V operator()(V a, V b) const {
    return a * b;
  }
};
struct Div {
  template <class V>
  V operator()(V a, V b) const {
    return a / b;
  }
};
// Vec's max and min return their second operand when either is NaN, so only a NaN in the first needs care.
struct Maximum {
  template <class V>
  V operator()(V a, V b) const {
    return select(is_nan(a), a, max(a, b));
  }
};
struct Minimum {
  template <class V>
  V operator()(V a, V b) const {
    return select(is_nan(a), a, min(a, b));
  }
};

// A repeated operand is loaded into a register once, before the loop.
template <class T, class Op>
void binary(const T* a, int64_t a_step, const T* b, int64_t b_step, T* out, int64_t n) {
  using V = Vec<T>;
  const Op op;
  if (n == 0) return;
  if (a_step && b_step) return map(n, a, b, out, op);
  const V a0 = *a;
  const V b0 = *b;
  if (a_step) return map(n, a, out, [=](V x) { return op(x, b0); });
  if (b_step) return map(n, b, out, [=](V y) { return op(a0, y); });
  T value[V::kWidth];
  op(a0, b0).store(value);
  for (int64_t i = 0; i < n; ++i) out[i] = value[0];
}

// Comparisons are exact, so a plain loop is as good a definition as registers are; the compiler vectorises it,
// bytes and all.
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};

template <class T, class Op, int kStepA, int kStepB>
void compare_row(const T* a, const T* b, bool* out, int64_t n) {
  const Op op;
  for (int64_t i = 0; i < n; ++i) out[i] = op(a[i * kStepA], b[i * kStepB]);
}

template <class T, class Op>
void compare(const T* a, int64_t a_step, const T* b, int64_t b_step, bool* out, int64_t n) {
  if (a_step && b_step)
    compare_row<T, Op, 1, 1>(a, b, out, n);
  else if (a_step)
    compare_row<T, Op, 1, 0>(a, b, out, n);
  else if (b_step)
    compare_row<T, Op, 0, 1>(a, b, out, n);
  else
    compare_row<T, Op, 0, 0>(a, b, out, n);
}

template <class T>
void add_scaled(T* y, const T* x, T alpha, int64_t n) {
  const Vec<T> scale = alpha;
  map(n, y, x, y, [=](Vec<T> sum, Vec<T> term) { return fma(scale, term, sum); });
}

// Two things make this loop vector code: both values are read before one is chosen, and the condition is read
// as the byte that it is, as GCC does not vectorise loads of bool.
template <class T, int kStepA, int kStepB>
void where_row(const bool* c, const T* a, const T* b, T* out, int64_t n) {
  const uint8_t* chosen = reinterpret_cast<const uint8_t*>(c);
  for (int64_t i = 0; i < n; ++i) {
    const T x = a[i * kStepA];
    const T y = b[i * kStepB];
    out[i] = chosen[i] != 0 ? x : y;
  }
}

template <class T>
void where(const bool* c, int64_t c_step, const T* a, int64_t a_step, const T* b, int64_t b_step, T* out,
           int64_t n) {
  if (n == 0) return;
  if (!c_step) {  // one condition for the whole row: it is a copy
    const T* chosen = *c ? a : b;
    const int64_t step = *c ? a_step : b_step;
    for (int64_t i = 0; i < n; ++i) out[i] = chosen[i * step];
  } else if (a_step && b_step) {
    where_row<T, 1, 1>(c, a, b, out, n);
  } else if (a_step) {
    where_row<T, 1, 0>(c, a, b, out, n);
  } else if (b_step) {
    where_row<T, 0, 1>(c, a, b, out, n);
  } else {
    where_row<T, 0, 0>(c, a, b, out, n);
  }
}

// Vec's max and min return their second operand when it is NaN.
template <class T>
void clamp(const T* x, T lo, T hi, T* out, int64_t n) {
  const Vec<T> low = lo;
  const Vec<T> high = hi;
  map(n, x, out, [=](Vec<T> v) { return min(high, max(low, v)); });
}

template <class T>
void bind_all(BinaryKernels<T>& k) {
  k.add = binary<T, Add>;
  k.sub = binary<T, Sub>;
  k.mul = binary<T, Mul>;
  k.div = binary<T, Div>;
  k.maximum = binary<T, Maximum>;
  k.minimum = binary<T, Minimum>;
  k.less = compare<T, Less>;
  k.less_equal = compare<T, LessEqual>;
  k.equal = compare<T, Equal>;
  k.not_equal = compare<T, NotEqual>;
  k.greater = compare<T, Greater>;
  k.greater_equal = compare<T, GreaterEqual>;
  k.add_scaled = add_scaled<T>;
  k.where = where<T>;
  k.clamp = clamp<T>;
}

}  // namespace

void bind(BinaryKernels<float>& k) { bind_all(k); }
void bind(BinaryKernels<double>& k) { bind_all(k); }

}  // namespace minigpt::MINIGPT_ISA
