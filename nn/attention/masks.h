#pragma once
// Masks: which keys a query may look at.
//
// Two kinds, of any shape that broadcasts to the scores (..., T, S):
//   bool    TRUE = MAY ATTEND. (PyTorch's modules ask the opposite question: there, true = hidden.)
//   float   is added to the scores before the softmax: 0 changes nothing, -inf hides, as false does, and anything
//           between makes a key more or less likely (a distance penalty, for example).
// An undefined tensor is no mask at all.

#include <limits>
#include <span>

#include "tensor/elementwise.h"
#include "tensor/triangle.h"

namespace minigpt {

// Query t may look at keys 0..t: bool (T, T), the lower triangle. What a language model needs, because at position t
// nobody has written position t + 1 yet (Vaswani et al. 2017, section 3.2.3).
inline Tensor causal_mask(std::int64_t T) { return tril_mask(T, T); }

// Keys below the length of their text may be looked at: bool (B, 1, 1, T), true for t < lengths[b]. The two axes of
// extent 1 stand for heads and queries, so that the mask broadcasts to scores (B, H, T, T); as (B, T) it would be
// taken for (T, S) of every text. Throws Error unless each length is in [0, T].
inline Tensor padding_mask(std::span<const std::int64_t> lengths, std::int64_t T) {
  const auto B = static_cast<std::int64_t>(lengths.size());
  Tensor mask = Tensor::empty({B, 1, 1, T}, DType::boolean);
  bool* out = mask.mutable_data<bool>();
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    check(length >= 0 && length <= T, "padding_mask", "text {} has length {}, with room for {}", b, length,
          T);
    for (std::int64_t t = 0; t < T; ++t) out[b * T + t] = t < length;
  }
  return mask;
}

// A bool mask from one of numbers, as it is often written: 0 = hidden, anything else = may attend.
inline Tensor mask_from_numbers(const Tensor& mask) { return ne(mask, 0); }

// The same mask in the form that is added: 0 where it is true, -inf where it is false.
inline Tensor additive_mask(const Tensor& may_attend, DType dtype = DType::f32) {
  return masked_fill(zeros(may_attend.shape(), dtype), logical_not(may_attend),
                     -std::numeric_limits<double>::infinity());
}

// Both masks at once: a key may be looked at if both allow it, and what they add is summed. Their shapes broadcast;
// either may be undefined. Throws Error on a type that is neither bool nor floating.
inline Tensor combine_masks(const Tensor& a, const Tensor& b) {
  for (const Tensor* m : {&a, &b})
    check(
        !m->defined() || m->dtype() == DType::boolean || m->dtype() == DType::f32 || m->dtype() == DType::f64,
        "combine_masks", "a mask is bool (true = may attend) or float (added to the scores), got {}",
        name_of(m->defined() ? m->dtype() : DType::boolean));
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  const bool a_is_bool = a.dtype() == DType::boolean, b_is_bool = b.dtype() == DType::boolean;
  if (a_is_bool && b_is_bool) return logical_and(a, b);
  if (a_is_bool) return masked_fill(b, logical_not(a), -std::numeric_limits<double>::infinity());
  if (b_is_bool) return masked_fill(a, logical_not(b), -std::numeric_limits<double>::infinity());
  return add(a, b.to(a.dtype()));
}

}  // namespace minigpt
