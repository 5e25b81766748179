// Time: one monotonic clock for durations, one wall clock for stamps, and durations as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// Seconds on a clock that never goes back; only differences mean something.
double monotonic_s();

/// Seconds that the calling thread has been running on a core; only differences mean something.
double thread_cpu_s();

/// Seconds since 1970-01-01 UTC.
double wall_clock_s();

/// "0.42 s", "59 s", "3 min 05 s", "2 h 07 min", "3 d 04 h".
std::string duration_text(double seconds);

/// Now, on this machine's clock on the wall, as strftime(3) writes it.
std::string local_time_text(const char* format);

class Stopwatch {
 public:
  Stopwatch() : start_s_(monotonic_s()) {}
  double seconds() const { return monotonic_s() - start_s_; }
  /// Seconds so far, and starts again from 0.
  double restart();

 private:
  double start_s_;
};

}  // namespace roll
