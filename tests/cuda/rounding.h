// Numbers of tests, and how far from exact ones a kernel's may be.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.h"
#include "cuda/words.h"

namespace roll::test {

inline std::vector<float> random_floats(int64_t count, uint64_t seed, double scale = 1) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(
        scale * random_normal({.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)}));
  return values;
}

/// float32: 1e-5, absolute below 1 and relative above. bfloat16, float16: its neighbour at most, and 1e-5 beside.
inline bool is_near(float found, double exact) {
  return std::abs(found - exact) <= 1e-5 * std::max(1.0, std::abs(exact));
}
template <class T>
bool is_near(T found, double exact) {
  constexpr int kBits = std::is_same_v<T, Bf16> ? 7 : 10;
  T rounded;
  store(rounded, static_cast<float>(exact));
  const double size = std::max(std::abs(static_cast<double>(to_float(rounded))), 1e-30);
  return std::abs(to_float(found) - exact) <= std::ldexp(1.0, std::ilogb(size) - kBits) + 1e-5;
}

}  // namespace roll::test
