#pragma once
// Arithmetic on two tensors, or on a tensor and a number.
//
// Shapes broadcast: axes are aligned from the right, and an axis of extent 1 (or a missing one) is repeated.
// The result is row-major. Both operands must hold the same type, float32, float64 or int32: nothing is
// promoted behind the caller's back, so an Error names both types instead. A scalar operand is converted to
// the tensor's type; for int32 it must be a whole number that fits.
//
// int32 wraps around on overflow, and its division cuts the fraction off (7 / -2 = -3); dividing by zero is
// an Error.
//
// All throw Error("[add] shapes do not broadcast: (2, 3) and (4)"), Error("[add] dtypes differ: float32 and
// int32").

#include "tensor/tensor.h"

namespace minigpt {

// a + b.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);
Tensor add(double a, const Tensor& b);
// a - b.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);
// a * b, element by element.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);
Tensor mul(double a, const Tensor& b);
// a / b.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

// The larger, the smaller of the two; NaN if either is NaN.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, double b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }

// In place: y += alpha * x, where x has y's shape or broadcasts to it. Raises y's version. Safe when x is y
// or shares its storage. Throws Error if y repeats elements (a view made by expand).
void add_(Tensor& y, const Tensor& x, double alpha = 1);
// In place: y *= factor. Raises y's version.
void mul_(Tensor& y, double factor);

}  // namespace minigpt
