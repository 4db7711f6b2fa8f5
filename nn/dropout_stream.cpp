#include "nn/dropout_stream.h"

namespace minigpt {

DropoutStream DropoutStream::counter(std::uint64_t seed) {
  DropoutStream stream;
  stream.key_.seed = seed;
  return stream;
}

DropoutStream DropoutStream::torch(Generator& rng) {
  DropoutStream stream;
  stream.rng_ = &rng;
  return stream;
}

void DropoutStream::begin(std::uint64_t step, std::uint32_t micro_step) {
  key_.step = step;
  key_.micro_step = micro_step;
  key_.call = 0;
}

DropoutMask DropoutStream::next(const Shape& shape, double p) {
  check(p >= 0 && p <= 1, "dropout", "p must be in [0, 1], got {}", p);
  PhiloxKey key = key_;
  ++key_.call;
  if (p == 0) return {Tensor(), 0};
  const std::int64_t n = numel(shape);
  Tensor bits = Tensor::empty({mask_words(n)}, DType::i32);
  // A word of bits has no sign; int32 is the integer type tensors have.
  auto* words = reinterpret_cast<std::uint32_t*>(bits.mutable_data<std::int32_t>());
  if (rng_)
    torch_keep_bits(*rng_, words, n, p);
  else
    philox_keep_bits(words, n, p, key);
  return {std::move(bits), p};
}

}  // namespace minigpt
