// The last step of a product with 8-bit weights, for the kernels of panel_product.h and tile_product.h: from sums of
// digits to numbers.
#pragma once

#include <cstdint>

#include "ops/panel_product.h"
#include "ops/simd.h"

namespace roll {

/// Vector types of `Lanes` elements: one register of the processor.
template <int Lanes>
struct Register {
  typedef float Floats __attribute__((vector_size(4 * Lanes), aligned(alignof(float)), may_alias));
  typedef int32_t Ints __attribute__((vector_size(4 * Lanes), aligned(alignof(int32_t)), may_alias));
};

/// Writes the products of a row in fixed point with `Lanes` outputs of a panel, from `column` on, to y[column] and
/// behind. digit_sums[d]: sums over the inputs of the row's digit d times each output's codes.
template <int Lanes>
ROLL_INLINE void write_byte_products(const typename Register<Lanes>::Ints (&digit_sums)[kFixedDigits],
                                     const BytePanel& panel, int64_t column, const uint8_t* row, float* y) {
  using Floats = typename Register<Lanes>::Floats;
  using Ints = typename Register<Lanes>::Ints;
  // Products with powers of two are exact, so a fused multiply-add has the same bits.
  const Ints offsets = *reinterpret_cast<const Ints*>(panel.offsets + column);
  const Floats top = __builtin_convertvector(digit_sums[2] - offsets, Floats) * 16384.0f;
  const Floats middle = __builtin_convertvector(digit_sums[1], Floats) * 128.0f;
  const Floats sums = (top + middle) + __builtin_convertvector(digit_sums[0], Floats);
  *reinterpret_cast<Floats*>(y + column) =
      sums * fixed_scale(row) * *reinterpret_cast<const Floats*>(panel.scales + column);
}

}  // namespace roll
