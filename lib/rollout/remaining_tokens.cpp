#include "rollout/remaining_tokens.h"

#include <algorithm>

namespace roll {

void RemainingTokens::ended(int64_t tokens, int64_t limit) {
  --num_open_;
  ++num_ended_;
  open_limit_ -= limit;
  open_drawn_ -= tokens;
}

double RemainingTokens::estimate() const {
  const auto limit = static_cast<double>(open_limit_ - open_drawn_);
  if (num_ended_ == 0) return limit;
  const double mean = static_cast<double>(drawn_) / static_cast<double>(num_ended_);
  return std::min(limit, mean * static_cast<double>(num_open_));
}

double RemainingTokens::share_done() const {
  const double num_left = estimate();
  return num_left > 0 ? static_cast<double>(drawn_) / (static_cast<double>(drawn_) + num_left) : 1;
}

}  // namespace roll
