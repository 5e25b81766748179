// Small matrix products inside our own parallel loops, where a tensor per block would cost more than the product.
// They go to the BLAS that LibTorch contains, by the standard Fortran names.
#pragma once

#include <cstdint>

extern "C" {
void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);
}

namespace roll {

/// A row-major matrix inside a larger array: rows are `stride` elements apart.
template <class T>
struct Rows {
  T* data;
  int64_t stride;
};

enum class Op : char { kPlain = 'N', kTransposed = 'T' };

/// c [m, n] = alpha op(a) op(b) + beta c, all row-major; op(a) is [m, k], op(b) is [k, n].
template <class T>
void gemm(Op op_a, Op op_b, int64_t rows, int64_t columns, int64_t inner, T alpha, Rows<const T> a, Rows<const T> b,
          T beta, Rows<T> c) {
  // BLAS is column-major: it sees every matrix transposed, so c^T = op(b)^T op(a)^T.
  const char first = static_cast<char>(op_b), second = static_cast<char>(op_a);
  const int m = static_cast<int>(columns), n = static_cast<int>(rows), k = static_cast<int>(inner);
  const int lda = static_cast<int>(b.stride), ldb = static_cast<int>(a.stride), ldc = static_cast<int>(c.stride);
  if constexpr (sizeof(T) == sizeof(float)) {
    sgemm_(&first, &second, &m, &n, &k, &alpha, b.data, &lda, a.data, &ldb, &beta, c.data, &ldc);
  } else {
    dgemm_(&first, &second, &m, &n, &k, &alpha, b.data, &lda, a.data, &ldb, &beta, c.data, &ldc);
  }
}

}  // namespace roll
