#pragma once
// Copying between any two layouts and types: the one place that walks arbitrary strides.

#include <limits>
#include <string_view>
#include <type_traits>

#include "tensor/tensor.h"

namespace minigpt {

// A number as a T. float -> int cuts off the fraction; anything -> bool is value != 0. Throws Error, in the name of `op`,
// for a NaN or a number outside the range of an integer: C++ leaves open what that would become.
template <class T>
T converted(std::string_view op, double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    check(value > static_cast<double>(std::numeric_limits<T>::min()) - 1 &&
              value < static_cast<double>(std::numeric_limits<T>::max()) + 1,
          op, "{} does not fit {}", value, name_of(dtype_of<T>));
    return static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// out[i] = source[i] converted to out's type, for tensors of equal shape and any strides. Throws as above. Does not raise
// out's version (the caller does where it matters).
void copy_elements(const Tensor& source, Tensor& out);

// Throws Error if one element of y shows up at several indices (a view made by expand): written in place, it would
// get one of several values, by chance.
void check_no_repetition(std::string_view op, const Tensor& y);

}  // namespace minigpt
