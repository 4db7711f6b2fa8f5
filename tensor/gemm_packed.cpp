#include "tensor/gemm_packed.h"

#include "tensor/error.h"
#include "tensor/gemm_tiles.h"
#include "tensor/parallel.h"

namespace minigpt {

using std::int64_t;

template <class T>
PackedFactor<T>::PackedFactor(const Matrix<T>& b, Precision precision)
    : kernel_(detail::gemm_kernels<T>(precision)),
      depth_(b.rows),
      columns_(b.cols),
      panel_(kernel_.column_tile * detail::ceil_div(b.rows, kernel_.depth_unit)) {
  const int64_t width = kernel_.column_tile, panels = detail::ceil_div(columns_, width);
  packed_ = Storage(static_cast<std::size_t>(panels * panel_) * sizeof(T));
  if (depth_ == 0) return;
  T* out = reinterpret_cast<T*>(packed_.data());
  parallel_for(panels, detail::ceil_div(32 * 1024, panel_), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * width, last = std::min(end * width, columns_);
    kernel_.pack(width, last - first, depth_, b.data + first * b.col_stride, b.col_stride, b.row_stride,
                 out + begin * panel_);
  });
}

template <class T>
void PackedFactor<T>::multiply(const Matrix<T>& a, T* c, int64_t ldc, const GemmOptions<T>& options) const {
  check(a.cols == depth_, "gemm", "inner dimensions differ: ({}, {}) x ({}, {}): {} != {}", a.rows, a.cols,
        depth_, columns_, a.cols, depth_);
  if (a.rows == 0 || columns_ == 0) return;
  // The product of nothing is 0: gemm() writes it.
  if (depth_ == 0) return gemm<T>(a, {nullptr, 0, columns_, 0, 0}, c, ldc, options);
  const detail::GemmPanels<T> b{reinterpret_cast<const T*>(packed_.data()), columns_, panel_,
                                kernel_.column_tile};
  detail::multiply_tiles(kernel_, a, detail::worth_packing_a(kernel_, a, columns_), b, c, ldc, options,
                         detail::depth_of_block(kernel_, depth_), true, true);
}

template class PackedFactor<float>;
template class PackedFactor<double>;

}  // namespace minigpt
