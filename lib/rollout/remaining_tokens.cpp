#include "rollout/remaining_tokens.h"

#include <algorithm>

namespace roll {

void RemainingTokens::ended(int64_t tokens, int64_t most) {
  --num_open_;
  ++num_ended_;
  most_of_open_ -= most;
  drawn_of_open_ -= tokens;
}

double RemainingTokens::estimate() const {
  const auto limit = static_cast<double>(most_of_open_ - drawn_of_open_);
  if (num_ended_ == 0) return limit;
  const double mean = static_cast<double>(drawn_) / static_cast<double>(num_ended_);
  return std::min(limit, mean * static_cast<double>(num_open_));
}

double RemainingTokens::share_done() const {
  const double left = estimate();
  return left > 0 ? static_cast<double>(drawn_) / (static_cast<double>(drawn_) + left) : 1;
}

}  // namespace roll
