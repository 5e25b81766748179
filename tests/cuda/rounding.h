// Numbers of tests, and how far from exact ones a kernel's may be.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.h"
#include "cuda/bf16.h"

namespace roll::test {

inline std::vector<float> random_floats(int64_t count, uint64_t seed, double scale = 1) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(
        scale * random_normal({.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)}));
  return values;
}

/// float32: 1e-5, absolute below 1 and relative above. bfloat16: its neighbour at most, and 1e-5 beside.
inline bool is_near(float found, double exact) {
  return std::abs(found - exact) <= 1e-5 * std::max(1.0, std::abs(exact));
}
inline bool is_near(Bf16 found, double exact) {
  Bf16 rounded;
  store(rounded, static_cast<float>(exact));
  const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::abs(static_cast<double>(to_float(rounded))), 1e-30)) - 7);
  return std::abs(to_float(found) - exact) <= ulp + 1e-5;
}

}  // namespace roll::test
