// Small GEMMs for our own parallel loops (CPU attention), where a tensor per block would cost more than the product.
// float32 with a multiple of 16 columns uses our own kernels: MKL has half their speed on processors that are not
// Intel's. Other products use the BLAS in LibTorch.
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

enum class Op : char { kPlain = 'N', kTransposed = 'T' };

constexpr int64_t kVectorColumns = 16;

/// The product c [rows, columns] = alpha op(a) b, or c += if `adds`. op(a) is [rows, inner], b [inner, columns].
template <class T>
struct BlockProduct {
  int64_t rows, columns, inner;
  T alpha;
  Op op_a;
  Rows<const T> a, b;
  bool adds;
  Rows<T> c;
};

/// Computes the product. T is float or double.
template <class T>
void multiply(const BlockProduct<T>& product);

/// Returns our own kernels that this processor can run, the fastest first. `columns` must be a multiple of
/// kVectorColumns. Each element is summed in the order of `inner`, so a row's bits do not depend on other rows.
const std::vector<void (*)(const BlockProduct<float>&)>& block_products();

}  // namespace roll
