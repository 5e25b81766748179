#include "ops/panel_product.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstring>

#include "ops/simd.h"

namespace roll {

namespace {

typedef float Vector __attribute__((vector_size(64), aligned(alignof(float)), may_alias));
constexpr int64_t kLine = 16;  // floats per cache line and per Vector

/// Computes R rows x C vectors of outputs; the sums stay in registers. Prefetches L cache lines per input.
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

/// Computes `count` rows, at most R.
template <int R, int C, int L>
ROLL_INLINE void multiply_few(int64_t count, const float* panel, int64_t inputs, const float* x, int64_t x_stride,
                              float* y, int64_t y_stride, const float* next) {
  if (count == R) return multiply_block<R, C, L>(panel, inputs, x, x_stride, y, y_stride, next);
  if constexpr (R > 1) multiply_few<R - 1, C, L>(count, panel, inputs, x, x_stride, y, y_stride, next);
}

constexpr int64_t kVectors = kPanelWidth / kLine;

/// Computes all rows in blocks of nearly equal height, at most R. Each pass over the panel prefetches another part.
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

/// Computes all rows. With fewer passes, each prefetches more of the next panel's four cache lines per input.
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

/// Vector types of `Lanes` elements: one register of the processor.
template <int Lanes>
struct Register {
  typedef float Floats __attribute__((vector_size(4 * Lanes), aligned(alignof(float)), may_alias));
  typedef uint32_t Words __attribute__((vector_size(4 * Lanes), aligned(alignof(uint32_t)), may_alias));
};

constexpr int kBytes = 4;  // bytes of a word: weights that are widened together

/// Computes R rows x the outputs of L words; the sums stay in registers. A byte is widened as the low bits of 2^23.
template <int R, int L>
ROLL_INLINE void multiply_bytes(const uint32_t* words, const float* scales, int64_t inputs, const float* x,
                                int64_t x_stride, float* y, int64_t y_stride, const uint32_t* next) {
  using Floats = typename Register<L>::Floats;
  using Words = typename Register<L>::Words;
  constexpr uint32_t kShift = 0x4b000000;    // 2^23
  constexpr float kShifted = 8388608 + 128;  // widened code of weight 0
  Floats sums[R][kBytes] = {};
  for (int64_t k = 0; k < inputs; ++k) {
    const Words word = *reinterpret_cast<const Words*>(words + k * kLine);
    Floats weights[kBytes];
    for (int b = 0; b < kBytes; ++b)
      weights[b] = reinterpret_cast<Floats>(((word >> (8 * b)) & 0xffu) | kShift) - kShifted;
    if (next) __builtin_prefetch(next + k * kLine, 0, 2);
    for (int r = 0; r < R; ++r) {
      const float input = x[r * x_stride + k];
      for (int b = 0; b < kBytes; ++b) sums[r][b] += input * weights[b];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int b = 0; b < kBytes; ++b)
      *reinterpret_cast<Floats*>(y + r * y_stride + b * kLine) =
          sums[r][b] * *reinterpret_cast<const Floats*>(scales + b * kLine);
}

/// Computes `count` rows, at most R.
template <int R, int L>
ROLL_INLINE void multiply_few_bytes(int64_t count, const BytePanel& panel, int64_t inputs, const PanelRows& rows,
                                    const uint32_t* next) {
  if (count == R) {
    for (int word = 0; word < kLine; word += L)
      multiply_bytes<R, L>(panel.words + word, panel.scales + word, inputs, rows.x, rows.x_stride, rows.y + word,
                           rows.y_stride, word == 0 ? next : nullptr);
  } else if constexpr (R > 1) {
    multiply_few_bytes<R - 1, L>(count, panel, inputs, rows, next);
  }
}

template <int R, int L>
ROLL_INLINE void multiply_byte_rows(const BytePanel& panel, int64_t inputs, const PanelRows& rows,
                                    const uint32_t* next) {
  const int64_t blocks = (rows.count + R - 1) / R;
  for (int64_t block = 0, row = 0; block < blocks; ++block) {
    const int64_t left = blocks - block, count = (rows.count - row + left - 1) / left;
    multiply_few_bytes<R, L>(
        count, panel, inputs,
        {rows.x + row * rows.x_stride, rows.x_stride, count, rows.y + row * rows.y_stride, rows.y_stride},
        block == 0 ? next : nullptr);
    row += count;
  }
}

#ifdef ROLL_V4
// 7 x 4 sums and 4 weights fill the 32 registers of AVX-512. Widening bytes takes three constants, so 6 rows fit.
ROLL_V4 void multiply_v4(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<7, 4>(panel, inputs, rows, next);
}
ROLL_V4 void multiply_bytes_v4(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next) {
  multiply_byte_rows<6, 16>(panel, inputs, rows, next);
}
// A Vector takes two registers: 6 x 2 sums in the 16 registers of AVX2.
ROLL_V3 void multiply_v3(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<6, 1>(panel, inputs, rows, next);
}
ROLL_V3 void multiply_bytes_v3(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next) {
  multiply_byte_rows<2, 8>(panel, inputs, rows, next);
}

#define ROLL_V4_BF16 __attribute__((target("arch=x86-64-v4,avx512bf16")))

/// Computes R rows x all outputs, like multiply_block.
template <int R>
ROLL_V4_BF16 void multiply_pairs(const uint32_t* panel, int64_t inputs, const c10::BFloat16* x, int64_t x_stride,
                                 float* y, int64_t y_stride, const uint32_t* next) {
  __m512 sums[R][kVectors];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < kVectors; ++c) sums[r][c] = _mm512_setzero_ps();
  for (int64_t k = 0; k < inputs; k += 2, panel += kPanelWidth) {
    __m512bh weights[kVectors];
    for (int c = 0; c < kVectors; ++c) weights[c] = (__m512bh)_mm512_loadu_si512(panel + c * kLine);
    if (next)
      for (int c = 0; c < kVectors; ++c) __builtin_prefetch(next + k / 2 * kPanelWidth + c * kLine, 0, 2);
    for (int r = 0; r < R; ++r) {
      int32_t pair = 0;
      std::memcpy(&pair, x + r * x_stride + k, sizeof(pair));
      const auto input = (__m512bh)_mm512_set1_epi32(pair);
      for (int c = 0; c < kVectors; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], input, weights[c]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < kVectors; ++c) _mm512_storeu_ps(y + r * y_stride + c * kLine, sums[r][c]);
}

/// Computes `count` rows, at most R.
template <int R>
ROLL_V4_BF16 void multiply_few_pairs(int64_t count, const uint32_t* panel, int64_t inputs, const c10::BFloat16* x,
                                     int64_t x_stride, float* y, int64_t y_stride, const uint32_t* next) {
  if (count == R)
    multiply_pairs<R>(panel, inputs, x, x_stride, y, y_stride, next);
  else if constexpr (R > 1)
    multiply_few_pairs<R - 1>(count, panel, inputs, x, x_stride, y, y_stride, next);
}

ROLL_V4_BF16 void multiply_pairs_v4(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows,
                                    const uint32_t* next) {
  constexpr int64_t kRows = 6;
  const int64_t blocks = (rows.count + kRows - 1) / kRows;
  for (int64_t block = 0, row = 0; block < blocks; ++block) {
    const int64_t left = blocks - block, count = (rows.count - row + left - 1) / left;
    multiply_few_pairs<kRows>(count, panel, inputs, rows.x + row * rows.x_stride, rows.x_stride,
                              rows.y + row * rows.y_stride, rows.y_stride, block == 0 ? next : nullptr);
    row += count;
  }
}
#endif

void multiply_plain(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<2, 1>(panel, inputs, rows, next);
}
void multiply_bytes_plain(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next) {
  multiply_byte_rows<2, 4>(panel, inputs, rows, next);
}

std::vector<PanelProducts> find_products() {
  std::vector<PanelProducts> found;
#ifdef ROLL_V4
  if (__builtin_cpu_supports("x86-64-v4"))
    found.push_back(
        {multiply_v4, multiply_bytes_v4, __builtin_cpu_supports("avx512bf16") ? multiply_pairs_v4 : nullptr});
  if (__builtin_cpu_supports("x86-64-v3")) found.push_back({multiply_v3, multiply_bytes_v3});
#endif
  found.push_back({multiply_plain, multiply_bytes_plain});
  return found;
}

}  // namespace

const std::vector<PanelProducts>& panel_products() {
  static const std::vector<PanelProducts> all = find_products();
  return all;
}

}  // namespace roll
