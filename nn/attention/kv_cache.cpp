#include "nn/attention/kv_cache.h"

#include <cmath>
#include <limits>

#include "tensor/arithmetic.h"
#include "tensor/matmul.h"
#include "tensor/rows.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

// (B, T, C) -> (B, H, T, D), a view.
Tensor heads_of(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), 1, 2);
}

// Position t of the new ones may see the `past` old ones and new ones up to t. scores: (B, H, T, past + T)
void hide_future(Tensor& scores, std::int64_t past) {
  const std::int64_t t_count = scores.dim(2);
  for (std::int64_t t = 0; t + 1 < t_count; ++t) {
    Tensor later = slice(select(scores, 2, t), -1, past + t + 1, past + t_count);
    later.fill_(-std::numeric_limits<double>::infinity());
  }
}

}  // namespace

KvCache::KvCache(std::int64_t n_layer, std::int64_t batch, std::int64_t capacity, std::int64_t channels,
                 DType dtype) {
  for (std::int64_t i = 0; i < n_layer; ++i)
    layers.push_back(
        {zeros({batch, capacity, channels}, dtype), zeros({batch, capacity, channels}, dtype), 0});
}

Tensor KvCache::Layer::attend(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t t_count = qkv.dim(1);
  const std::int64_t c = qkv.dim(2) / 3;
  check(length + t_count <= keys.dim(1), "kv cache", "{} positions do not fit: {} of {} are used", t_count,
        length, keys.dim(1));
  slice(keys, 1, length, length + t_count).copy_(slice(qkv, 2, c, 2 * c));
  slice(values, 1, length, length + t_count).copy_(slice(qkv, 2, 2 * c, 3 * c));
  const std::int64_t past = length;
  length += t_count;

  const Tensor q = heads_of(slice(qkv, 2, 0, c), heads);
  const Tensor k = heads_of(slice(keys, 1, 0, length), heads);
  const Tensor v = heads_of(slice(values, 1, 0, length), heads);
  Tensor scores =
      mul(matmul(q, transpose(k)), 1.0 / std::sqrt(static_cast<double>(q.dim(3))));  // (B, H, T, S)
  hide_future(scores, past);
  return reshape(transpose(matmul(softmax(scores), v), 1, 2), {qkv.dim(0), t_count, c});
}

}  // namespace minigpt
