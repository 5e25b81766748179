// Small matrix products inside our own parallel loops, where a tensor per block would cost more than the product. Those
// of float32 with whole vectors of columns are ours: MKL has half their speed where the processor is not Intel's.
// Others go to the BLAS that LibTorch contains.
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

/// c [rows, columns] = alpha op(a) b, or c += that; op(a) is [rows, inner], b [inner, columns].
template <class T>
struct BlockProduct {
  int64_t rows, columns, inner;
  T alpha;
  Op op_a;
  Rows<const T> a, b;
  bool adds;
  Rows<T> c;
};

/// T: float or double.
template <class T>
void multiply(const BlockProduct<T>& product);

/// Ours, for columns that are a multiple of kVectorColumns, one for each kind of processor that this one is, the
/// fastest first. Each element is summed in the order of `inner`: a row's bits do not depend on its neighbours.
const std::vector<void (*)(const BlockProduct<float>&)>& block_products();

}  // namespace roll
