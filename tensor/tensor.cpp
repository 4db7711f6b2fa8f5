#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/copy.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

bool row_major(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;  // the stride of a single element is never used
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  Tensor t;
  t.shape_ = shape;
  t.strides_ = shape;
  t.dtype_ = dtype;
  // Elements and strides in one go; whatever is empty or absurdly large is left to the functions that know all
  // about it.
  std::int64_t count = 1;
  bool ordinary = true;
  for (int i = shape.size() - 1; i >= 0; --i) {
    t.strides_[i] = count;
    ordinary = ordinary && shape[i] > 0 && !__builtin_mul_overflow(count, shape[i], &count);
  }
  if (!ordinary || count > (std::int64_t{1} << 58)) [[unlikely]] {
    count = minigpt::numel(shape);
    t.strides_ = contiguous_strides(shape);
  }
  t.numel_ = count;
  t.storage_ = Storage(static_cast<std::size_t>(count * size_of(dtype)));
  return t;
}

Tensor Tensor::view_of(const Storage& storage, std::int64_t offset, const Shape& shape,
                       const Strides& strides, DType dtype) {
  check(static_cast<bool>(storage), "view", "the tensor is undefined");
  check(strides.size() == shape.size(), "view", "shape {} and strides {} differ in length", shape, strides);
  Tensor t;
  t.numel_ = minigpt::numel(shape);
  const std::int64_t count =
      static_cast<std::int64_t>(storage.bytes()) / size_of(dtype);  // elements there are
  std::int64_t low = offset;
  std::int64_t high = offset;
  bool inside = offset >= 0 && offset <= count;
  for (int i = 0; inside && i < shape.size(); ++i) {
    if (shape[i] <= 1) continue;
    std::int64_t reach = 0;
    inside = !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) && reach >= -count && reach <= count;
    if (inside) (reach < 0 ? low : high) += reach;
  }
  check(t.numel_ == 0 || (inside && low >= 0 && high < count), "view",
        "shape {} with strides {} from element {} on lies outside the storage of {} bytes", shape, strides,
        offset, storage.bytes());
  t.storage_ = storage;
  t.offset_ = offset;
  t.shape_ = shape;
  t.strides_ = strides;
  t.dtype_ = dtype;
  t.contiguous_ = t.numel_ == 0 || row_major(shape, strides);
  return t;
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  const std::int64_t wanted = minigpt::numel(shape);
  check(wanted == static_cast<std::int64_t>(values.size()), "tensor", "shape {} needs {} values, got {}",
        shape, wanted, values.size());
  Tensor t = empty(shape, dtype_of<T>);
  if (wanted > 0) std::memcpy(t.storage_.data(), values.data(), values.size_bytes());
  return t;
}
template Tensor Tensor::from(std::span<const float>, const Shape&);
template Tensor Tensor::from(std::span<const double>, const Shape&);
template Tensor Tensor::from(std::span<const std::int32_t>, const Shape&);
template Tensor Tensor::from(std::span<const bool>, const Shape&);
template Tensor Tensor::from(std::span<const BFloat16>, const Shape&);

void Tensor::wrong_type(DType wanted) const {
  check(defined(), "data", "the tensor is undefined");
  fail("data", "the tensor holds {}, not {}", name_of(dtype_), name_of(wanted));
}

double Tensor::at(const Dims& index) const {
  check(index.size() == rank(), "at", "index {} does not fit shape {}", index, shape_);
  std::int64_t position = 0;
  for (int i = 0; i < rank(); ++i) {
    check(index[i] >= 0 && index[i] < shape_[i], "at", "index {} is outside shape {}", index, shape_);
    position += index[i] * strides_[i];
  }
  return visit_stored_dtype(dtype_,
                            [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[position]); });
}

double Tensor::item() const {
  check(defined() && numel_ == 1, "item", "needs exactly one element, shape is {}", shape_);
  return visit_stored_dtype(dtype_, [&](auto zero) { return static_cast<double>(*data<decltype(zero)>()); });
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor flat = contiguous();
  const T* first = flat.data<T>();
  return std::vector<T>(first, first + numel_);
}
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<std::int32_t> Tensor::to_vector() const;
template std::vector<bool> Tensor::to_vector() const;
template std::vector<BFloat16> Tensor::to_vector() const;

Tensor Tensor::contiguous() const { return contiguous_ ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor out = empty(shape_, dtype_);
  copy_elements(*this, out);
  return out;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor out = empty(shape_, dtype);
  copy_elements(*this, out);
  return out;
}

void Tensor::fill_(double value) {
  visit_stored_dtype(dtype_, [&](auto zero) {
    using T = decltype(zero);
    const T element = converted<T>("fill_", value);
    if (contiguous_)
      std::fill_n(mutable_data<T>(), numel_, element);
    else
      copy_(Tensor::scalar<T>(element));
  });
}

void Tensor::copy_(const Tensor& source) {
  // A source that overlaps this storage is copied out first, so that no element is read after it was
  // overwritten.
  check_no_repetition("copy_", *this);
  const Tensor from = source.storage_ == storage_ ? source.clone() : source;
  storage_.bump_version();
  copy_elements(expand(from, shape_), *this);
}

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype()); }
Tensor ones_like(const Tensor& x) { return full(x.shape(), 1, x.dtype()); }

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor t = Tensor::empty(shape, dtype);
  t.fill_(value);
  return t;
}

Tensor arange(std::int64_t n, DType dtype) {
  Tensor t = Tensor::empty({n}, dtype);
  visit_dtype(dtype, [&](auto zero) {
    auto* out = t.mutable_data<decltype(zero)>();
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<decltype(zero)>(i);
  });
  return t;
}

Tensor eye(std::int64_t n, DType dtype) {
  Tensor t = zeros({n, n}, dtype);
  Tensor diagonal = Tensor::view_of(t.storage(), 0, {n}, {n + 1}, dtype);
  diagonal.fill_(1);
  return t;
}

}  // namespace minigpt
