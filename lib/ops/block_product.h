// Computes small matrix products on raw pointers, single-threaded, for our own parallel loops (CPU attention), where
// making a tensor per block would cost more than multiplying. Products of float32 with a multiple of 16 columns use our
// own kernels, because MKL has half their speed on processors that are not Intel's. Other products use the BLAS in
// LibTorch.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// A row-major matrix inside a larger array: rows are `stride` elements apart.
template <class T>
struct Rows {
  T* data;
  int64_t stride;
};

/// Says if a matrix is used as it is or transposed; the values are those of BLAS.
enum class Op : char { kPlain = 'N', kTransposed = 'T' };

constexpr int64_t kVectorColumns = 16;  // columns that our own kernels compute at once

/// The product c [rows, columns] = alpha * op(a) b, with op(a) [rows, inner] and b [inner, columns].
template <class T>
struct BlockProduct {
  int64_t rows, columns, inner;
  T alpha;
  Op op_a;  // kTransposed: `a` is stored as [inner, rows]
  Rows<const T> a, b;
  bool adds;  // true: adds the product to c; false: overwrites c
  Rows<T> c;
};

/// Computes the product. T is float or double.
template <class T>
void multiply(const BlockProduct<T>& product);

/// Returns our own kernels that this processor can run, the fastest first; multiply() uses the first, tests compare
/// all. A kernel requires `columns` to be a multiple of kVectorColumns. It sums each element in the order of `inner`,
/// so that a row's bits do not depend on other rows.
const std::vector<void (*)(const BlockProduct<float>&)>& block_products();

}  // namespace roll
