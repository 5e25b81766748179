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

/// The same below another bound.
inline std::vector<int64_t> ids_below(int64_t bound, int64_t count) {
  std::vector<int64_t> ids = some_ids(count, count);
  for (int64_t& id : ids) id %= bound;
  return ids;
}

}  // namespace roll::test
