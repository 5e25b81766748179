#include "serve/pending_answer.h"

#include <utility>

namespace roll {

std::vector<ChoiceNews> PendingAnswer::take(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return !news_.empty() || !failure_.empty(); });
  if (news_.empty() && !failure_.empty()) throw Unavailable(failure_);
  return std::exchange(news_, {});
}

void PendingAnswer::put(ChoiceNews news) {
  const std::lock_guard lock(mutex_);
  news_.push_back(std::move(news));
  changed_.notify_all();
}

void PendingAnswer::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  failure_ = why;
  changed_.notify_all();
}

}  // namespace roll
