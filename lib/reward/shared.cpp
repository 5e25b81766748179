#include "reward/shared.h"

#include <unistd.h>

#include <algorithm>

#include "base/random.h"

namespace roll {

RateLimiter& SharedByWorkers::limiter(const RateLimits& limits) {
  const auto share = [this](std::optional<int64_t> limit) {
    return limit ? std::optional(std::max<int64_t>(1, *limit / num_ranks_)) : std::nullopt;
  };
  const std::lock_guard lock(mutex_);
  if (!limiter_)
    limiter_ =
        std::make_unique<RateLimiter>(RateLimits{share(limits.requests_per_minute), share(limits.tokens_per_minute)});
  return *limiter_;
}

std::atomic<bool>& SharedByWorkers::answered_flag(const std::string& service) {
  const std::lock_guard lock(mutex_);
  return answered_flags_[service];
}

void SharedByWorkers::mark_services_answered() {
  const std::lock_guard lock(mutex_);
  for (auto& [service, has_answered] : answered_flags_) has_answered = true;
}

void SharedByWorkers::warn_once(const std::string& text) {
  if (log_ && !has_warned_.exchange(true)) log_->warn("{}", text);
}

double SharedByWorkers::jitter() {
  return random_uniform(
      {.seed = static_cast<uint64_t>(::getpid()), .purpose = Purpose::kRetry, .sequence = num_jitters_++});
}

}  // namespace roll
