// Rows of x in fixed point, for products with weights of 8 or 4 bits. An element is an integer of 21 bits times
// the scale of its row, an error of at most 5e-7 times the row's largest element. Sums of products of integers are
// exact, so a product has the same bits on every processor and in every order.
// Layout of a row: its scale (float), padding to 64 bytes, then three planes with one digit (0 to 127) of each element:
// element = scale * (digit 0 + 128 digit 1 + 16384 (digit 2 - kTopOffset)). Behind them is the sum of the integers of
// each block of 32 elements (int32). Legend: K elements of a row.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <cstring>

namespace roll {

constexpr int64_t kFixedDigits = 3;
constexpr int32_t kTopOffset = 64;       // makes the top digit of a negative element positive
constexpr int64_t kFixedHeader = 64;     // bytes before the digits
constexpr int64_t kFixedAlignment = 64;  // a plane has a multiple of this many elements; digits of the padding are 0
constexpr int64_t kFixedBlock = 32;      // elements of a block

/// Returns the elements of a plane.
constexpr int64_t fixed_plane(int64_t inputs) {
  return (inputs + kFixedAlignment - 1) / kFixedAlignment * kFixedAlignment;
}
/// Returns the place of the blocks' sums in a row.
constexpr int64_t fixed_sums_place(int64_t inputs) {
  return kFixedHeader + kFixedDigits * fixed_plane(inputs);
}
/// Returns the bytes of a row: whole cache lines.
constexpr int64_t fixed_row_bytes(int64_t inputs) {
  const int64_t sums = fixed_plane(inputs) / kFixedBlock * static_cast<int64_t>(sizeof(int32_t));
  return fixed_sums_place(inputs) + (sums + kFixedAlignment - 1) / kFixedAlignment * kFixedAlignment;
}
/// Returns the scale of a row.
inline float fixed_scale(const uint8_t* row) {
  float scale = 0;
  std::memcpy(&scale, row, sizeof(scale));
  return scale;
}

/// Writes x [K] as a row of fixed_row_bytes(K) bytes. If an element is not finite, the scale is NaN; if all are below
/// 1e-30, they count as 0.
void fix_row(const float* x, int64_t inputs, uint8_t* row);
void fix_row(const c10::BFloat16* x, int64_t inputs, uint8_t* row);

}  // namespace roll
