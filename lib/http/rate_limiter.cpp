#include "http/rate_limiter.h"

#include <algorithm>

namespace roll {

namespace {

constexpr double kWindow_s = 61;  // a minute, plus 1 s because requests take different times to arrive

}  // namespace

double RateLimiter::earliest_start_s(int64_t tokens, double now_s) const {
  double start_s = sent_.empty() ? now_s : std::max(now_s, sent_.back().at_s);
  int64_t requests = 1;
  for (auto sent = sent_.rbegin(); sent != sent_.rend(); ++sent) {
    if (sent->at_s + kWindow_s <= start_s) break;
    ++requests;
    tokens += sent->tokens;
    const bool fits = requests <= limits_.requests_per_minute.value_or(requests) &&
                      tokens <= limits_.tokens_per_minute.value_or(tokens);
    if (!fits) return sent->at_s + kWindow_s;
  }
  return start_s;
}

RateLimiter::Turn RateLimiter::take_turn(int64_t tokens, double now_s) {
  const std::lock_guard lock(mutex_);
  while (!sent_.empty() && sent_.front().at_s + kWindow_s <= now_s) sent_.pop_front(), ++num_forgotten_;
  const double start_s = earliest_start_s(tokens, now_s);
  sent_.push_back({start_s, tokens});
  return {num_forgotten_ + static_cast<int64_t>(sent_.size()) - 1, start_s};
}

void RateLimiter::settle(int64_t number, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  if (number >= num_forgotten_) sent_[static_cast<size_t>(number - num_forgotten_)].tokens = tokens;
}

}  // namespace roll
