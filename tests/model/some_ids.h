// Tokens of a made-up text.
#pragma once

#include <cstdint>
#include <vector>

namespace roll::test {

/// `count` ids below 71, others for another `start`.
inline std::vector<int64_t> some_ids(int64_t count, int64_t start) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back((start * 31 + i * i * 7 + i) % 71);
  return ids;
}

}  // namespace roll::test
