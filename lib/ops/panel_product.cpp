#include "ops/panel_product.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstring>

#include "ops/byte_products.h"
#include "ops/simd.h"
#include "ops/tile_product.h"

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

constexpr int64_t kGroup = 4;  // inputs whose codes are neighbours in a panel of 8-bit weights

#ifdef ROLL_V4
// 7 x 4 sums and 4 weights fill the 32 registers of AVX-512.
ROLL_V4 void multiply_v4(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<7, 4>(panel, inputs, rows, next);
}
// A Vector takes two registers: 6 x 2 sums in the 16 registers of AVX2.
ROLL_V3 void multiply_v3(const float* panel, int64_t inputs, const PanelRows& rows, const float* next) {
  multiply_ahead<6, 1>(panel, inputs, rows, next);
}

/// Computes one row with AVX2: 3 x 4 sums of 8 outputs each. Products of digits and codes fit 16 bits in pairs.
ROLL_V3 void multiply_bytes_v3(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows, const int8_t* next) {
  constexpr int kColumns = 4, kLanes = 8;
  const int64_t plane = fixed_plane(inputs);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t row = 0; row < rows.count; ++row) {
    const uint8_t *const x = rows.x + row * rows.x_stride, *const digits = x + kFixedHeader;
    for (int64_t first = 0; first < kPanelWidth; first += kColumns * kLanes) {
      Register<kLanes>::Ints sums[kColumns][kFixedDigits] = {};
      for (int64_t group = 0; group < plane / kGroup; ++group) {
        const int64_t place = code_place(inputs, first, group * kGroup),
                      second = code_place(inputs, first + 16, group * kGroup);
        if (row == 0) __builtin_prefetch(next + place, 0, 2), __builtin_prefetch(next + second, 0, 2);
        for (int d = 0; d < kFixedDigits; ++d) {
          int32_t four = 0;
          std::memcpy(&four, digits + d * plane + group * kGroup, sizeof(four));
          const __m256i digit = _mm256_set1_epi32(four);
          for (int c = 0; c < kColumns; ++c) {
            const int8_t* const codes = panel.codes + (c < 2 ? place : second) + c % 2 * kLanes * kGroup;
            const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
            const __m256i pairs = _mm256_maddubs_epi16(digit, weights);
            sums[c][d] += reinterpret_cast<Register<kLanes>::Ints>(_mm256_madd_epi16(pairs, ones));
          }
        }
      }
      for (int c = 0; c < kColumns; ++c)
        write_byte_products<kLanes>(sums[c], panel, first + c * kLanes, x, rows.y + row * rows.y_stride);
    }
  }
}

#define ROLL_V4_VNNI __attribute__((target("arch=x86-64-v4,avx512vnni")))

/// Computes R rows x all outputs: R x 3 x 4 sums.
template <int R>
ROLL_V4_VNNI void multiply_vnni_block(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows,
                                      const int8_t* next) {
  const int64_t plane = fixed_plane(inputs);
  Register<kLine>::Ints sums[R][kVectors][kFixedDigits] = {};
  for (int64_t k = 0; k < plane; k += kGroup) {
    __m512i weights[kVectors];
    for (int c = 0; c < kVectors; ++c) {
      const int64_t place = code_place(inputs, c * kLine, k);
      weights[c] = _mm512_loadu_si512(panel.codes + place);
      if (next) __builtin_prefetch(next + place, 0, 2);
    }
    for (int r = 0; r < R; ++r)
      for (int d = 0; d < kFixedDigits; ++d) {
        int32_t four = 0;
        std::memcpy(&four, rows.x + r * rows.x_stride + kFixedHeader + d * plane + k, sizeof(four));
        const __m512i digit = _mm512_set1_epi32(four);
        for (int c = 0; c < kVectors; ++c)
          sums[r][c][d] = reinterpret_cast<Register<kLine>::Ints>(
              _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums[r][c][d]), digit, weights[c]));
      }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < kVectors; ++c)
      write_byte_products<kLine>(sums[r][c], panel, c * kLine, rows.x + r * rows.x_stride, rows.y + r * rows.y_stride);
}

ROLL_V4_VNNI void multiply_bytes_vnni(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows,
                                      const int8_t* next) {
  for (int64_t row = 0; row < rows.count; row += 2) {
    const int8_t* const prefetched = row == 0 ? next : nullptr;
    if (row + 1 < rows.count)
      multiply_vnni_block<2>(panel, inputs, rows.part(row, 2), prefetched);
    else
      multiply_vnni_block<1>(panel, inputs, rows.part(row, 1), prefetched);
  }
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
void multiply_bytes_plain(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows, const int8_t*) {
  constexpr int kLanes = 4;
  const int64_t plane = fixed_plane(inputs);
  for (int64_t row = 0; row < rows.count; ++row) {
    const uint8_t* const x = rows.x + row * rows.x_stride;
    int32_t sums[kFixedDigits][kPanelWidth] = {};
    for (int64_t k = 0; k < plane; ++k)
      for (int d = 0; d < kFixedDigits; ++d)
        for (int64_t output = 0; output < kPanelWidth; ++output)
          sums[d][output] += x[kFixedHeader + d * plane + k] * panel.codes[code_place(inputs, output, k)];
    for (int64_t column = 0; column < kPanelWidth; column += kLanes) {
      Register<kLanes>::Ints parts[kFixedDigits];
      for (int d = 0; d < kFixedDigits; ++d) std::memcpy(&parts[d], sums[d] + column, sizeof(parts[d]));
      write_byte_products<kLanes>(parts, panel, column, x, rows.y + row * rows.y_stride);
    }
  }
}

std::vector<PanelProducts> find_products() {
  std::vector<PanelProducts> found;
#ifdef ROLL_V4
  const auto bytes_v4 = __builtin_cpu_supports("avx512vnni") ? multiply_bytes_vnni : multiply_bytes_v3;
  const auto pairs_v4 = __builtin_cpu_supports("avx512bf16") ? multiply_pairs_v4 : nullptr;
  if (__builtin_cpu_supports("x86-64-v4")) {
    if (has_tiles()) found.push_back({multiply_v4, multiply_bytes_tiled, multiply_pairs_tiled});
    found.push_back({multiply_v4, bytes_v4, pairs_v4});
  }
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
