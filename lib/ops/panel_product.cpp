#include "ops/panel_product.h"

#include "ops/simd.h"

namespace roll {

namespace {

typedef float Vector __attribute__((vector_size(64), aligned(alignof(float)), may_alias));
constexpr int kLine = 16;  // floats of a cache line, and of a Vector

/// R rows with C vectors of outputs; the sums stay in registers. Reads L lines ahead for each input.
template <int R, int C, int L>
ROLL_INLINE void multiply_block(const float* panel, int64_t inputs, const float* x, int64_t x_stride, float* y,
                                int64_t y_stride, const float* next) {
  Vector sums[R][C] = {};
  for (int64_t k = 0; k < inputs; ++k) {
    Vector weights[C];
    for (int c = 0; c < C; ++c) weights[c] = *reinterpret_cast<const Vector*>(panel + k * kPanelWidth + c * kLine);
    for (int line = 0; line < L; ++line) __builtin_prefetch(next + (k * L + line) * kLine, 0, 2);
    for (int r = 0; r < R; ++r) {
      const float input = x[r * x_stride + k];
      for (int c = 0; c < C; ++c) sums[r][c] += input * weights[c];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) *reinterpret_cast<Vector*>(y + r * y_stride + c * kLine) = sums[r][c];
}

/// `count` rows, at most R.
template <int R, int C, int L>
ROLL_INLINE void multiply_few(int64_t count, const float* panel, int64_t inputs, const float* x, int64_t x_stride,
                              float* y, int64_t y_stride, const float* next) {
  if (count == R) return multiply_block<R, C, L>(panel, inputs, x, x_stride, y, y_stride, next);
  if constexpr (R > 1) multiply_few<R - 1, C, L>(count, panel, inputs, x, x_stride, y, y_stride, next);
}

constexpr int64_t kVectors = kPanelWidth / kLine;

/// All rows in blocks of nearly equal height, at most R; each pass over the panel reads another part ahead.
template <int R, int C, int L>
ROLL_INLINE void multiply_rows(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  const int64_t blocks = (rows.count + R - 1) / R;
  for (int64_t block = 0, row = 0; block < blocks; ++block) {
    const int64_t left = blocks - block, count = (rows.count - row + left - 1) / left;
    for (int64_t c = 0; c < kVectors; c += C, next += inputs * L * kLine)
      multiply_few<R, C, L>(count, panel + c * kLine, inputs, rows.x + row * rows.x_stride, rows.x_stride,
                            rows.y + row * rows.y_stride + c * kLine, rows.y_stride, next);
    row += count;
  }
}

/// The fewer passes, the more each reads ahead of the panel's four lines an input.
template <int R, int C>
ROLL_INLINE void multiply_ahead(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  const int64_t passes = (rows.count + R - 1) / R * kVectors / C;
  if (passes == 1)
    multiply_rows<R, C, 4>(panel, inputs, rows, next);
  else if (passes < 4)
    multiply_rows<R, C, 2>(panel, inputs, rows, next);
  else
    multiply_rows<R, C, 1>(panel, inputs, rows, next);
}

#ifdef __x86_64__
// 7 x 4 sums and 4 weights fill the 32 registers of AVX-512.
__attribute__((target("arch=x86-64-v4"))) void multiply_v4(const float* panel, int64_t inputs, const PanelRows& rows,
                                                           const float* next) {
  multiply_ahead<7, 4>(panel, inputs, rows, next);
}
// Two registers a Vector: 6 x 2 sums of the 16 of AVX2.
__attribute__((target("arch=x86-64-v3"))) void multiply_v3(const float* panel, int64_t inputs, const PanelRows& rows,
                                                           const float* next) {
  multiply_ahead<6, 1>(panel, inputs, rows, next);
}
#endif

void multiply_plain(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<2, 1>(panel, inputs, rows, next);
}

using Multiply = void (*)(const float*, int64_t, const PanelRows&, const float*);

Multiply widest() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4")) return multiply_v4;
  if (__builtin_cpu_supports("x86-64-v3")) return multiply_v3;
#endif
  return multiply_plain;
}

}  // namespace

void multiply_panel(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  static const Multiply multiply = widest();
  multiply(panel, inputs, rows, next);
}

}  // namespace roll
