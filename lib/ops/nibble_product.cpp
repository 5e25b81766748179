#include "ops/nibble_product.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/byte_products.h"
#include "ops/simd.h"

namespace roll {

namespace {

constexpr int64_t kNibbleSteps = 4, kNibbleVectors = kPanelWidth / 16;

/// The rows that a kernel computes, for a panel of `blocks` blocks.
struct NibbleRows {
  const FixedPanelRows& rows;
  int64_t blocks;

  const uint8_t* row(int64_t r) const { return rows.x + r * rows.x_stride; }
  int64_t plane() const { return fixed_plane(blocks * kNibbleBlock); }
  float scale(int64_t r) const { return fixed_scale(row(r)); }
  /// Returns the sum of the integers of a row in a block.
  int32_t sum(int64_t r, int64_t block) const {
    return reinterpret_cast<const int32_t*>(row(r) + fixed_sums_place(blocks * kNibbleBlock))[block];
  }
};

/// Vector types for `Lanes` scales, before and after they are widened.
template <int Lanes>
struct ScaleRegister {
  typedef uint16_t Halves __attribute__((vector_size(2 * Lanes), aligned(alignof(uint16_t)), may_alias));
  typedef uint32_t Words __attribute__((vector_size(4 * Lanes)));
};

/// Sets `total` to a block's result before its scale, for `Lanes` outputs. digit_sums[d]: sums of codes times digit d;
/// element_sum: the sum of the row's elements.
template <int Lanes>
ROLL_INLINE void set_total(const typename Register<Lanes>::Ints (&digit_sums)[kFixedDigits], int32_t element_sum,
                           typename Register<Lanes>::Floats& total) {
  const typename Register<Lanes>::Ints sum =
      digit_sums[0] + ((digit_sums[1] + (digit_sums[2] << 7)) << 7) - kNibbleZero * element_sum;
  total = __builtin_convertvector(sum, typename Register<Lanes>::Floats);
}

/// Widens `Lanes` bfloat16 scales.
template <int Lanes>
ROLL_INLINE void set_scales(const uint16_t* scales, typename Register<Lanes>::Floats& wide) {
  using Words = typename ScaleRegister<Lanes>::Words;
  const Words words =
      __builtin_convertvector(*reinterpret_cast<const typename ScaleRegister<Lanes>::Halves*>(scales), Words);
  wide = reinterpret_cast<typename Register<Lanes>::Floats>(words << 16);
}

/// Four digits of a plane as signed bytes; the top digit's offset is subtracted.
ROLL_INLINE int32_t four_digits(const uint8_t* digits, int64_t digit) {
  uint32_t four = 0;
  std::memcpy(&four, digits, sizeof(four));
  // (d + 64) ^ 128 is d - 64 as a signed byte, and no byte carries into the next.
  return static_cast<int32_t>(digit == kFixedDigits - 1 ? (four + 0x40404040u) ^ 0x80808080u : four);
}

#ifdef ROLL_V4
#define ROLL_V4_NIBBLES __attribute__((target("arch=x86-64-v4,avx512vnni")))

/// Computes R rows x C vectors of 16 outputs, from vector `first` on.
template <int R, int C>
ROLL_V4_NIBBLES void multiply_nibbles_block(const NibbleBlock* panel, const NibbleRows& part, int64_t row,
                                            int64_t first, const NibbleBlock* next) {
  constexpr int kLanes = 16;
  const __m512i low_half = _mm512_set1_epi8(15);
  const int64_t plane = part.plane();
  __m512 results[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) results[r][c] = _mm512_setzero_ps();
  for (int64_t b = 0; b < part.blocks; ++b) {
    const NibbleBlock& block = panel[b];
    if (next)
      for (size_t line = 0; line < sizeof(NibbleBlock); line += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(next + b) + line, 0, 2);
    Register<kLanes>::Ints sums[R][C][kFixedDigits] = {};
    for (int64_t s = 0; s < kNibbleSteps; ++s) {
      __m512i codes[2][C];
      for (int c = 0; c < C; ++c) {
        const __m512i both = _mm512_loadu_si512(block.codes[s][first + c]);
        codes[0][c] = _mm512_and_si512(both, low_half);
        const auto shifted = reinterpret_cast<ScaleRegister<kLanes>::Words>(both) >> 4;
        codes[1][c] = _mm512_and_si512(reinterpret_cast<__m512i>(shifted), low_half);
      }
      for (int r = 0; r < R; ++r)
        for (int d = 0; d < kFixedDigits; ++d)
          for (int half = 0; half < 2; ++half) {
            const uint8_t* const digits =
                part.row(row + r) + kFixedHeader + d * plane + b * kNibbleBlock + 8 * s + 4 * half;
            const __m512i digit = _mm512_set1_epi32(four_digits(digits, d));
            for (int c = 0; c < C; ++c)
              sums[r][c][d] = reinterpret_cast<Register<kLanes>::Ints>(
                  _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums[r][c][d]), codes[half][c], digit));
          }
    }
    for (int c = 0; c < C; ++c) {
      Register<kLanes>::Floats scales, total;
      set_scales<kLanes>(block.scales + kLanes * (first + c), scales);
      for (int r = 0; r < R; ++r) {
        set_total<kLanes>(sums[r][c], part.sum(row + r, b), total);
        results[r][c] =
            _mm512_fmadd_ps(reinterpret_cast<__m512>(total), reinterpret_cast<__m512>(scales), results[r][c]);
      }
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      _mm512_storeu_ps(part.rows.y + (row + r) * part.rows.y_stride + 16 * (first + c),
                       _mm512_mul_ps(results[r][c], _mm512_set1_ps(part.scale(row + r))));
}

ROLL_V4_NIBBLES void multiply_nibbles_vnni(const NibbleBlock* panel, int64_t blocks, const FixedPanelRows& rows,
                                           const NibbleBlock* next) {
  const NibbleRows part{rows, blocks};
  const int64_t count = part.rows.count;
  for (int64_t row = 0; row < count;) {
    const NibbleBlock* const prefetched = row == 0 ? next : nullptr;
    const int64_t left = count - row;
    if (left == 1) {
      multiply_nibbles_block<1, 4>(panel, part, row++, 0, prefetched);
      continue;
    }
    const bool takes_three = left == 3 || left > 4;
    for (int64_t first = 0; first < kNibbleVectors; first += 2)
      if (takes_three)
        multiply_nibbles_block<3, 2>(panel, part, row, first, first == 0 ? prefetched : nullptr);
      else
        multiply_nibbles_block<2, 2>(panel, part, row, first, first == 0 ? prefetched : nullptr);
    row += takes_three ? 3 : 2;
  }
}

/// Computes one row with AVX2, 8 outputs at a time. Products of codes and digits fit 16 bits in pairs.
ROLL_V3 void multiply_nibbles_v3(const NibbleBlock* panel, int64_t blocks, const FixedPanelRows& rows,
                                 const NibbleBlock* next) {
  const NibbleRows part{rows, blocks};
  constexpr int kLanes = 8;
  const __m256i ones = _mm256_set1_epi16(1), low_half = _mm256_set1_epi8(15);
  const int64_t plane = part.plane();
  for (int64_t row = 0; row < part.rows.count; ++row)
    for (int64_t first = 0; first < kPanelWidth; first += kLanes) {
      __m256 result = _mm256_setzero_ps();
      for (int64_t b = 0; b < part.blocks; ++b) {
        const NibbleBlock& block = panel[b];
        if (row == 0)
          for (int64_t line = 0; line < 3 && 3 * first / 8 + line < 18; ++line)
            __builtin_prefetch(reinterpret_cast<const char*>(next + b) + 64 * (3 * first / 8 + line), 0, 2);
        Register<kLanes>::Ints sums[kFixedDigits] = {};
        for (int64_t s = 0; s < kNibbleSteps; ++s) {
          const __m256i both =
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.codes[s][first / 16] + first % 16 * 4));
          const __m256i codes[2] = {_mm256_and_si256(both, low_half),
                                    _mm256_and_si256(_mm256_srli_epi16(both, 4), low_half)};
          for (int64_t d = 0; d < kFixedDigits; ++d)
            for (int64_t half = 0; half < 2; ++half) {
              const uint8_t* const digits =
                  part.row(row) + kFixedHeader + d * plane + b * kNibbleBlock + 8 * s + 4 * half;
              const __m256i pairs = _mm256_maddubs_epi16(codes[half], _mm256_set1_epi32(four_digits(digits, d)));
              sums[d] += reinterpret_cast<Register<kLanes>::Ints>(_mm256_madd_epi16(pairs, ones));
            }
        }
        Register<kLanes>::Floats scales, total;
        set_scales<kLanes>(block.scales + first, scales);
        set_total<kLanes>(sums, part.sum(row, b), total);
        result = _mm256_fmadd_ps(reinterpret_cast<__m256>(total), reinterpret_cast<__m256>(scales), result);
      }
      _mm256_storeu_ps(part.rows.y + row * part.rows.y_stride + first,
                       _mm256_mul_ps(result, _mm256_set1_ps(part.scale(row))));
    }
}
#endif

int32_t code_of(const NibbleBlock& block, int64_t output, int64_t k) {
  const uint8_t both = block.codes[k / 8][output / 16][output % 16 * 4 + k % 4];
  return k % 8 < 4 ? both & 15 : both >> 4;
}

void multiply_nibbles_plain(const NibbleBlock* panel, int64_t blocks, const FixedPanelRows& rows, const NibbleBlock*) {
  const NibbleRows part{rows, blocks};
  const int64_t plane = part.plane();
  for (int64_t row = 0; row < part.rows.count; ++row) {
    const uint8_t* const low = part.row(row) + kFixedHeader;
    for (int64_t output = 0; output < kPanelWidth; ++output) {
      float result = 0;
      for (int64_t b = 0; b < part.blocks; ++b) {
        int32_t total = -kNibbleZero * part.sum(row, b);
        for (int64_t k = 0; k < kNibbleBlock; ++k) {
          const uint8_t* const digits = low + b * kNibbleBlock + k;
          const int32_t element = digits[0] + 128 * digits[plane] + 16384 * (digits[2 * plane] - kTopOffset);
          total += code_of(panel[b], output, k) * element;
        }
        const float scale = std::bit_cast<float>(static_cast<uint32_t>(panel[b].scales[output]) << 16);
        result = std::fma(static_cast<float>(total), scale, result);
      }
      part.rows.y[row * part.rows.y_stride + output] = result * part.scale(row);
    }
  }
}

std::vector<NibbleProduct> find_nibble_products() {
  std::vector<NibbleProduct> found;
#ifdef ROLL_V4
  if (__builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni"))
    found.push_back(multiply_nibbles_vnni);
  if (__builtin_cpu_supports("x86-64-v3")) found.push_back(multiply_nibbles_v3);
#endif
  found.push_back(multiply_nibbles_plain);
  return found;
}

/// Rounds a float to bfloat16, ties to even; NaN stays NaN.
uint16_t to_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

}  // namespace

void round_to_nibbles(const float* weights, int64_t inputs, int64_t output, NibbleBlock* panel) {
  for (int64_t b = 0; b < nibble_blocks(inputs); ++b) {
    const float* const from = weights + b * kNibbleBlock;
    const int64_t size = std::min(kNibbleBlock, inputs - b * kNibbleBlock);
    const float largest =
        *std::max_element(from, from + size, [](float a, float c) { return std::fabs(a) < std::fabs(c); });
    const bool is_finite = std::all_of(from, from + size, [](float w) { return std::isfinite(w); });
    const uint16_t narrow = to_bfloat16(is_finite ? largest / -kNibbleZero : std::numeric_limits<float>::quiet_NaN());
    const float scale = std::bit_cast<float>(static_cast<uint32_t>(narrow) << 16);
    panel[b].scales[output] = narrow;
    for (int64_t k = 0; k < kNibbleBlock; ++k) {
      const bool is_zero = k >= size || !is_finite || scale == 0;
      const float steps = is_zero ? 0 : std::clamp(from[k] / scale, -8.0f, 7.0f);
      const auto code = static_cast<uint8_t>(std::lrint(steps) + kNibbleZero);
      uint8_t& both = panel[b].codes[k / 8][output / 16][output % 16 * 4 + k % 4];
      both = static_cast<uint8_t>(k % 8 < 4 ? (both & 0xf0) | code : (both & 15) | code << 4);
    }
  }
}

const std::vector<NibbleProduct>& nibble_products() {
  static const std::vector<NibbleProduct> all = find_nibble_products();
  return all;
}

}  // namespace roll
