#include "transport/wait.h"

#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr double kSpin_s = 200e-6;
constexpr double kYield_s = 20e-3;
constexpr double kYieldOnSharedCore_s = 1e-3;
constexpr double kUnsharedCoreShare = 0.9;  // CPU share of a waiting thread whose core nobody else wants
constexpr useconds_t kSleep_us = 100;
constexpr useconds_t kLongSleep_us = 500;

}  // namespace

Wait::Wait(const Whereabouts& place, CallName call, double timeout_s, bool is_patient)
    : place_(place),
      call_(std::move(call)),
      timeout_s_(timeout_s),
      limit_s_(timeout_s),
      is_patient_(is_patient),
      start_s_(monotonic_s()),
      start_cpu_s_(thread_cpu_s()) {}

double Wait::waited_s() const {
  return monotonic_s() - start_s_;
}

bool Wait::is_long() const {
  return is_patient_ || waited_s() > kYield_s;
}

/// Returns true if others want this core: the wait got less than full CPU time. It should sleep then, since a yielding
/// thread runs again soon, at the cost of computing ones.
bool Wait::shares_core(double waited_s) const {
  return waited_s > kYieldOnSharedCore_s && thread_cpu_s() - start_cpu_s_ < kUnsharedCoreShare * waited_s;
}

std::string Wait::group_text() const {
  return call_.group.empty() ? "" : fmt::format(" of its {} group", call_.group);
}

std::string Wait::where() const {
  return fmt::format("{}: {}{}", to_string(place_), call_.collective, group_text());
}

void Wait::diverged(const Head& local, int other, const Head& other_head) const {
  throw Bug(fmt::format("{}: ranks{} diverged: this rank is in {}, rank {} in {}", to_string(place_), group_text(),
                        local.text(), other, other_head.text()));
}

void Wait::pause(const std::function<std::vector<int>()>& late) {
  const double waited = waited_s();
  if (is_patient_) {
    ::usleep(kLongSleep_us);
  } else if (waited > kYield_s || shares_core(waited)) {
    ::usleep(kSleep_us);
  } else if (waited > kSpin_s) {
    ::sched_yield();
  }
  if (waited <= limit_s_) return;
  const std::vector<int> missing = late();
  if (missing.empty()) {
    limit_s_ += timeout_s_;  // it was this process that was suspended
    return;
  }
  throw system_error(
      "{}: waited {} and nothing came from rank {}; look at what that rank printed last (the limit is "
      "backend_timeout)",
      where(), duration_text(limit_s_), fmt::join(missing, ", "));
}

}  // namespace roll
