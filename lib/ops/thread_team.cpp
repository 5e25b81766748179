#include "ops/thread_team.h"

#include <ATen/Parallel.h>

#include <utility>

namespace roll {

namespace {

/// About 20 us: longer than the threads' usual lag in a stage, but too short to waste much if a thread lost its core.
constexpr int kSpins = 1000;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void ThreadTeam::run(const std::function<void(Member&)>& body) {
  size_ = at::in_parallel_region() ? 1 : at::get_num_threads();
  next_ = 0;
  if (size_ == 1) {
    Member alone(*this, 0);
    body(alone);
  } else {
    at::parallel_for(0, size_, 1, [&](int64_t begin, int64_t) noexcept {
      Member member(*this, begin);
      body(member);
    });
  }
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
}

void ThreadTeam::note_failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
}

void ThreadTeam::wait_for_all() {
  const uint32_t stage = stage_.load();
  if (num_arrived_.fetch_add(1) + 1 == size_) {
    num_arrived_ = 0;
    next_ = 0;
    stage_.fetch_add(1);
    stage_.notify_all();
    return;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    if (stage_.load(std::memory_order_acquire) != stage) return;
    pause_cpu();
  }
  stage_.wait(stage);
}

}  // namespace roll
