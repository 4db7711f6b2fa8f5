#pragma once
// Tensor: an n-dimensional array of numbers. It knows nothing of gradients (see autograd/variable.h).
//
// A tensor is a window on a Storage: element (i, j, ...) lies at offset + i * strides[0] + j * strides[1] +
// ... Views (transpose, slice, expand, ...; tensor/views.h) share the storage, so a write through one is seen
// by all. Copying a Tensor copies the window, not the numbers; `clone()` copies the numbers.

#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace minigpt {

class Tensor {
 public:
  // An undefined tensor: no shape, no data. Only defined() and assignment are allowed.
  Tensor() = default;

  // A row-major tensor whose contents are undefined.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32);
  // A view on existing storage; checks that every element lies inside it.
  static Tensor view_of(const Storage& storage, std::int64_t offset, const Shape& shape,
                        const Strides& strides, DType dtype);
  // A new tensor that holds a copy of `values` in row-major order. Throws Error if the count does not fit the
  // shape.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }
  // A tensor with no dimensions and one element.
  template <class T>
  static Tensor scalar(T value) {
    return from<T>({value}, {});
  }

  bool defined() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int rank() const { return shape_.size(); }
  // Extent of one axis; negative axes count from the end.
  std::int64_t dim(int axis) const { return shape_[normalize_axis("dim", axis, rank())]; }
  std::int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  std::int64_t offset() const { return offset_; }
  const Storage& storage() const { return storage_; }
  // Row-major without gaps, so that data<T>()[i] is element i.
  bool is_contiguous() const { return contiguous_; }

  // Gives the storage up, as assigning Tensor() does; cheaper, because the rest stays as it is.
  void reset() { storage_ = Storage(); }

  // First element. Throws Error if T is not this tensor's type.
  template <class T>
  const T* data() const {
    check_type(dtype_of<T>);
    return reinterpret_cast<const T*>(storage_.data()) + offset_;
  }
  // The same for writing; raises the version, so autograd notices. A pointer kept for later writes is not
  // noticed: ask again for each write.
  template <class T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    storage_.bump_version();
    return reinterpret_cast<T*>(storage_.data()) + offset_;
  }

  // Number of in-place writes to the shared storage so far.
  std::uint64_t version() const { return storage_.version(); }

  // The only element, as a double. Throws Error if there is not exactly one.
  double item() const;
  // Element at an index, as a double; slow, for tests and printing.
  double at(const Dims& index) const;
  // All elements in row-major order. Throws Error if T is not this tensor's type.
  template <class T>
  std::vector<T> to_vector() const;

  // This tensor if it is contiguous, else a row-major copy.
  Tensor contiguous() const;
  // A row-major copy of the numbers.
  Tensor clone() const;
  // A copy in another type (itself if the type is the same). int: fractions are cut off; bool: value !=
  // 0; bfloat16: rounded to the nearest, ties to even.
  Tensor to(DType dtype) const;

  // In place: every element = value; every element = the one of `source` (broadcast, converted).
  void fill_(double value);
  void copy_(const Tensor& source);

 private:
  // Inline, because every operation on a small tensor passes here several times.
  void check_type(DType wanted) const {
    if (!storage_ || dtype_ != wanted) [[unlikely]]
      wrong_type(wanted);
  }
  [[noreturn]] void wrong_type(DType wanted) const;

  Storage storage_;
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  Shape shape_;
  Strides strides_;
  DType dtype_ = DType::f32;
  bool contiguous_ = true;
};

// New tensors.
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
// 0, 1, ..., n - 1.
Tensor arange(std::int64_t n, DType dtype = DType::i32);
// n x n with ones on the diagonal.
Tensor eye(std::int64_t n, DType dtype = DType::f32);

}  // namespace minigpt
