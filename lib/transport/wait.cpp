// How long to spin, to yield and to sleep between looks.
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/wire.h"

namespace roll {

namespace {

constexpr double kSpin_s = 200e-6;
constexpr double kYield_s = 20e-3;
constexpr useconds_t kSleep_us = 100;
constexpr useconds_t kLongSleep_us = 500;

}  // namespace

Wait::Wait(const Whereabouts& place, std::string_view collective, double timeout_s, bool is_patient)
    : place_(place), collective_(collective), timeout_s_(timeout_s), is_patient_(is_patient), start_s_(monotonic_s()) {}

std::string Wait::where() const {
  return fmt::format("{}: {}", to_string(place_), collective_);
}

void Wait::pause(const std::function<std::vector<int>()>& late) {
  const double waited_s = monotonic_s() - start_s_;
  if (is_patient_) {
    ::usleep(kLongSleep_us);
  } else if (waited_s > kYield_s) {
    ::usleep(kSleep_us);
  } else if (waited_s > kSpin_s) {
    ::sched_yield();
  }
  if (waited_s <= timeout_s_) return;
  const std::vector<int> missing = late();
  if (missing.empty()) return;  // it was this process that was held
  throw system_error(
      "{}: waited {} and nothing came from rank {}; look at what that rank printed last (the limit is "
      "backend_timeout)",
      where(), duration_text(timeout_s_), fmt::join(missing, ", "));
}

}  // namespace roll
