// Conversions for CPU kernels that store elements of type T (float, double or c10::BFloat16) and compute in Wide<T>:
// float for bfloat16, T for the others.
#pragma once

#include <c10/util/BFloat16.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "ops/simd.h"

namespace roll {

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<c10::BFloat16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

// c10's own conversions branch for NaN, which keeps the compiler from vectorising loops with them.

/// Returns x in the type for computing.
template <class T>
ROLL_INLINE Wide<T> widen(T x) {
  if constexpr (std::is_same_v<T, c10::BFloat16>)
    return std::bit_cast<float>(static_cast<uint32_t>(x.x) << 16);
  else
    return x;
}

/// Returns x in the type for storing, rounded to the nearest value, ties to even; NaN stays NaN.
template <class T>
ROLL_INLINE T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, c10::BFloat16>) {
    const uint32_t bits = x == x ? std::bit_cast<uint32_t>(x) : 0x7fc00000u;  // NOLINT: false of NaN alone
    return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16), c10::BFloat16::from_bits()};
  } else {
    return x;
  }
}

}  // namespace roll
