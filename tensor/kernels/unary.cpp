// Compiled once per instruction set; see unary.h.
#include "tensor/kernels/unary.h"

#include "tensor/simd/activation.h"
#include "tensor/simd/map.h"

namespace minigpt::MINIGPT_ISA {

namespace {

template <class T>
void bind_unary(UnaryKernels<T>& k) {
  using V = Vec<T>;
  k.exp = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return exp(v); }); };
  k.log = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return log(v); }); };
  k.tanh = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return tanh(v); }); };
  k.erf = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return erf(v); }); };
  k.sigmoid = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return sigmoid(v); }); };
  k.sqrt = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return sqrt(v); }); };
  k.reciprocal = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return T(1) / v; }); };
  k.neg = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return -v; }); };
  k.abs = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return abs(v); }); };
  k.square = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return v * v; }); };
  k.relu = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return Relu::value(v); }); };
  k.silu = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return Silu::value(v); }); };
  k.gelu_erf = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return GeluErf::value(v); }); };
  k.gelu_tanh = [](const T* x, T* y, int64_t n) { map(n, x, y, [](V v) { return GeluTanh::value(v); }); };

  k.relu_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return select(v <= T(0), V(0), d); });
  };
  k.silu_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * Silu::both(v).slope; });
  };
  k.gelu_erf_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * GeluErf::both(v).slope; });
  };
  k.gelu_tanh_backward = [](const T* x, const T* dy, T* dx, int64_t n) {
    map(n, x, dy, dx, [](V v, V d) { return d * GeluTanh::both(v).slope; });
  };
}

}  // namespace

void bind(UnaryKernels<float>& k) { bind_unary(k); }
void bind(UnaryKernels<double>& k) { bind_unary(k); }

}  // namespace minigpt::MINIGPT_ISA
