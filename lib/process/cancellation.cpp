#include "process/cancellation.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr double kLongestPoll_s = 1e6;  // fits into an int as milliseconds

bool is_readable(int descriptor, double seconds) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(std::ceil(std::clamp(seconds, 0.0, kLongestPoll_s) * 1000))) > 0;
}

}  // namespace

Cancellation::Cancellation() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw system_error("eventfd failed{}", errno_text());
}

void Cancellation::cancel() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);  // fails only if already cancelled
}

void Cancellation::reset() {
  uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof count);
}

bool Cancellation::is_cancelled() const {
  return is_readable(event_.get(), 0);
}

bool Cancellation::sleep(double seconds) const {
  const double end_s = monotonic_s() + seconds;
  for (double left_s = seconds; left_s > 0; left_s = end_s - monotonic_s())  // a signal ends poll early
    if (is_readable(event_.get(), left_s)) return false;
  return !is_cancelled();
}

}  // namespace roll
