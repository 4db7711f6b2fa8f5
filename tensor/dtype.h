#pragma once
// The element types a tensor can have.

#include <cstdint>
#include <string_view>

#include "tensor/bf16.h"
#include "tensor/error.h"
#include "tensor/simd/no_fast_math.h"

namespace minigpt {

// bf16 is for storage: it can be converted, copied, filled and printed, and a few operations take their weights in it.
enum class DType : std::uint8_t { f32, f64, i32, boolean, bf16 };

// Bytes of one element.
constexpr std::int64_t size_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
      return 8;
    case DType::boolean:
      return 1;
    case DType::bf16:
      return 2;
  }
  return 0;
}

// PyTorch's name of the type: "float32", "float64", "int32", "bool", "bfloat16".
constexpr std::string_view name_of(DType t) {
  switch (t) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::i32:
      return "int32";
    case DType::boolean:
      return "bool";
    case DType::bf16:
      return "bfloat16";
  }
  return "?";
}

// The types that are computed with.
constexpr bool is_floating(DType t) { return t == DType::f32 || t == DType::f64; }

// The DType that stores a C++ type: dtype_of<float> == DType::f32.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType stores this type");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;

// Calls fn with a value of the C++ type behind `t`: visit_dtype(t, [&](auto zero) { using T = decltype(zero);
// ... }). Throws Error for bfloat16, which few operations know.
template <class Fn>
decltype(auto) visit_dtype(DType t, Fn&& fn) {
  switch (t) {
    case DType::f64:
      return fn(double{});
    case DType::i32:
      return fn(std::int32_t{});
    case DType::boolean:
      return fn(bool{});
    case DType::bf16:
      fail("dtype", "this operation does not take bfloat16: convert it to float32 first");
    case DType::f32:
      break;
  }
  return fn(float{});
}

// The same with bfloat16, for what only moves and converts numbers.
template <class Fn>
decltype(auto) visit_stored_dtype(DType t, Fn&& fn) {
  if (t == DType::bf16) return fn(BFloat16{});
  return visit_dtype(t, fn);
}

// The same for operations that exist for float32 and float64 only; others are refused in the name of `op`.
template <class Fn>
decltype(auto) visit_floating(std::string_view op, DType t, Fn&& fn) {
  check(is_floating(t), op, "needs float32 or float64, got {}", name_of(t));
  if (t == DType::f64) return fn(double{});
  return fn(float{});
}

}  // namespace minigpt
