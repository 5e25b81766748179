#include "ops/fixed_rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/simd.h"
#include "ops/wide.h"

namespace roll {

namespace {

constexpr float kSmallest = 1e-30f;
constexpr float kLargestStep = (1 << 20) - 1;

/// Sets `largest` to the largest absolute element and `probe` to 0, or to NaN if an element is not finite.
template <class T>
ROLL_INLINE void find_largest(const T* x, int64_t inputs, float& largest, float& probe) {
  float top = 0, sum = 0;
#pragma omp simd reduction(max : top) reduction(+ : sum)
  for (int64_t k = 0; k < inputs; ++k) {
    const float element = widen(x[k]);
    const float size = element < 0 ? -element : element;
    top = size > top ? size : top;
    sum += element * 0.0f;
  }
  largest = top;
  probe = sum;
}

template <class T>
ROLL_INLINE void write_row(const T* x, int64_t inputs, uint8_t* row) {
  float largest = 0, probe = 0;
  find_largest(x, inputs, largest, probe);
  const float scale = std::isnan(probe)     ? std::numeric_limits<float>::quiet_NaN()
                      : largest < kSmallest ? 0
                                            : largest / kLargestStep;
  std::memcpy(row, &scale, sizeof(scale));
  const int64_t plane = fixed_plane(inputs);
  uint8_t *const low = row + kFixedHeader, *const middle = low + plane, *const top = middle + plane;
  const float steps = scale > 0 ? kLargestStep / largest : 0;
#pragma omp simd
  for (int64_t k = 0; k < inputs; ++k) {
    const float shifted = widen(x[k]) * steps + 12582912.0f;  // + 1.5 * 2^23 rounds to a whole number
    const uint32_t step = std::bit_cast<uint32_t>(shifted) - 0x4b400000u + (uint32_t{kTopOffset} << 14);
    low[k] = step & 127;
    middle[k] = step >> 7 & 127;
    top[k] = step >> 14 & 127;
  }
  for (uint8_t* const digits : {low, middle, top}) std::memset(digits + inputs, 0, static_cast<size_t>(plane - inputs));
  auto* const sums = reinterpret_cast<int32_t*>(row + fixed_sums_place(inputs));
  for (int64_t block = 0; block < plane / kFixedBlock; ++block) {
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = block * kFixedBlock; k < (block + 1) * kFixedBlock; ++k)
      sum += low[k] + 128 * middle[k] + 16384 * (top[k] - kTopOffset);
    sums[block] = sum;
  }
}

}  // namespace

ROLL_SIMD void fix_row(const float* x, int64_t inputs, uint8_t* row) {
  write_row(x, inputs, row);
}

ROLL_SIMD void fix_row(const c10::BFloat16* x, int64_t inputs, uint8_t* row) {
  write_row(x, inputs, row);
}

}  // namespace roll
