#include "ops/block_product.h"

#include <algorithm>

#include "ops/simd.h"

extern "C" {
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);
}

namespace roll {

namespace {

using Product = BlockProduct<float>;
typedef float Vector __attribute__((vector_size(64), aligned(alignof(float)), may_alias));
static_assert(sizeof(Vector) == kVectorColumns * sizeof(float));

/// Computes R rows x C vectors of columns; the sums stay in registers.
template <int R, int C>
ROLL_INLINE void product_block(const Product& p, int64_t row, int64_t column) {
  const int64_t next_row = p.op_a == Op::kPlain ? p.a.stride : 1, next = p.op_a == Op::kPlain ? 1 : p.a.stride;
  const float* a = p.a.data + row * next_row;
  const float* b = p.b.data + column;
  Vector sums[R][C] = {};
  for (int64_t k = 0; k < p.inner; ++k, a += next, b += p.b.stride) {
    Vector columns[C];
    for (int c = 0; c < C; ++c) columns[c] = *reinterpret_cast<const Vector*>(b + c * kVectorColumns);
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) sums[r][c] += a[r * next_row] * columns[c];
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float* const to = p.c.data + (row + r) * p.c.stride + column + c * kVectorColumns;
      const Vector sum = p.alpha * sums[r][c];
      *reinterpret_cast<Vector*>(to) = p.adds ? *reinterpret_cast<const Vector*>(to) + sum : sum;
    }
}

/// Computes `count` rows, at most R.
template <int R, int C>
ROLL_INLINE void product_few(const Product& p, int64_t row, int64_t count, int64_t column) {
  if (count == R) return product_block<R, C>(p, row, column);
  if constexpr (R > 1) product_few<R - 1, C>(p, row, count, column);
}

/// Computes the columns from `column` on, C vectors at a time, then the rest. Row blocks, at most R high, are balanced.
template <int R, int C>
ROLL_INLINE void product_columns(const Product& p, int64_t column) {
  const int64_t blocks = (p.rows + R - 1) / R;
  for (; column + C * kVectorColumns <= p.columns; column += C * kVectorColumns)
    for (int64_t block = 0, row = 0; block < blocks; ++block) {
      const int64_t left = blocks - block, count = (p.rows - row + left - 1) / left;
      product_few<R, C>(p, row, count, column);
      row += count;
    }
  if constexpr (C > 1)
    if (column < p.columns) product_columns<R, C - 1>(p, column);
}

#ifdef ROLL_V4
// 7 x 4 sums and 4 vectors fill the 32 registers of AVX-512.
ROLL_V4 void product_v4(const Product& p) {
  product_columns<7, 4>(p, 0);
}
// A Vector takes two registers: 6 x 2 sums in the 16 registers of AVX2.
ROLL_V3 void product_v3(const Product& p) {
  product_columns<6, 1>(p, 0);
}
#endif
void product_plain(const Product& p) {
  product_columns<2, 1>(p, 0);
}

std::vector<void (*)(const Product&)> product_versions() {
  std::vector<void (*)(const Product&)> found;
#ifdef ROLL_V4
  if (__builtin_cpu_supports("x86-64-v4")) found.push_back(product_v4);
  if (__builtin_cpu_supports("x86-64-v3")) found.push_back(product_v3);
#endif
  found.push_back(product_plain);
  return found;
}

/// BLAS is column-major: it sees every matrix transposed, so c^T = b^T op(a)^T.
template <class T, class Gemm>
void multiply_by(const Gemm& gemm, const BlockProduct<T>& p) {
  const char plain = 'N', op_a = static_cast<char>(p.op_a);
  const int m = static_cast<int>(p.columns), n = static_cast<int>(p.rows), k = static_cast<int>(p.inner);
  const int lda = static_cast<int>(p.b.stride), ldb = static_cast<int>(p.a.stride), ldc = static_cast<int>(p.c.stride);
  const T beta = p.adds ? 1 : 0;
  gemm(&plain, &op_a, &m, &n, &k, &p.alpha, p.b.data, &lda, p.a.data, &ldb, &beta, p.c.data, &ldc);
}

}  // namespace

const std::vector<void (*)(const Product&)>& block_products() {
  static const std::vector<void (*)(const Product&)> all = product_versions();
  return all;
}

template <>
void multiply(const BlockProduct<float>& product) {
  if (product.columns % kVectorColumns == 0)
    block_products().front()(product);
  else
    multiply_by(sgemm_, product);
}

template <>
void multiply(const BlockProduct<double>& product) {
  multiply_by(dgemm_, product);
}

}  // namespace roll
