#include "reward/overlong.h"

#include <algorithm>

namespace roll {

double overlong_reward(const OverlongBuffer& buffer, int64_t num_tokens, int64_t response_length) {
  const int64_t excess = std::clamp<int64_t>(num_tokens - (response_length - *buffer.len), 0, *buffer.len);
  return -buffer.penalty_factor * static_cast<double>(excess) / static_cast<double>(*buffer.len);
}

}  // namespace roll
