// Rows of x in fixed point, for products with int8 weights (panel_product.h). An element is an integer of 21 bits times
// the scale of its row, an error of at most 5e-7 times the row's largest element. Sums of products of integers are
// exact, so a product has the same bits on every processor and in every order.
// Layout of a row: its scale (float), padding to 64 bytes, then three planes with one digit (0 to 127) of each element:
// element = scale * (digit 0 + 128 digit 1 + 16384 (digit 2 - kTopOffset)). Legend: K elements of a row.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#include "ops/simd.h"

namespace roll {

constexpr int64_t kFixedDigits = 3;
constexpr int32_t kTopOffset = 64;       // makes the top digit of a negative element positive
constexpr int64_t kFixedHeader = 64;     // bytes before the digits
constexpr int64_t kFixedAlignment = 64;  // a plane has a multiple of this many elements; the padding is zero

/// Returns the elements of a plane.
constexpr int64_t fixed_plane(int64_t inputs) {
  return (inputs + kFixedAlignment - 1) / kFixedAlignment * kFixedAlignment;
}
/// Returns the bytes of a row.
constexpr int64_t fixed_row_bytes(int64_t inputs) {
  return kFixedHeader + kFixedDigits * fixed_plane(inputs);
}

/// Writes x [K] as a row of fixed_row_bytes(K) bytes. If an element is not finite, the scale is NaN; if all are below
/// 1e-30, they count as 0.
void fix_row(const float* x, int64_t inputs, uint8_t* row);
void fix_row(const c10::BFloat16* x, int64_t inputs, uint8_t* row);

/// Sets y to the products of a row with several outputs. digit_sums[d]: sums over K of digit d times the output's
/// codes. offsets: kTopOffset times the sum of the output's codes. row_scale, scales: of the row and of the outputs.
/// Ints and Floats are vectors of as many elements.
template <class Ints, class Floats>
ROLL_INLINE void combine_digits(const Ints (&digit_sums)[kFixedDigits], const Ints& offsets, float row_scale,
                                const Floats& scales, Floats& y) {
  // Products with powers of two are exact, so a fused multiply-add has the same bits.
  const Floats top = __builtin_convertvector(digit_sums[2] - offsets, Floats) * 16384.0f;
  const Floats middle = __builtin_convertvector(digit_sums[1], Floats) * 128.0f;
  y = ((top + middle) + __builtin_convertvector(digit_sums[0], Floats)) * row_scale * scales;
}

}  // namespace roll
