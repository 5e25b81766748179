// Clocks and durations: a monotonic clock, the wall clock, and durations as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace roll {

/// Returns seconds on a clock that never goes back. Only differences between calls on one host are meaningful.
double monotonic_s();

/// Returns the CPU seconds of the calling thread; only differences are meaningful.
double thread_cpu_s();

/// Returns the seconds since 1970-01-01 UTC.
double wall_clock_s();

/// Formats a duration: "0.42 s", "59 s", "3 min 05 s", "2 h 07 min", "3 d 04 h"; "?" if negative, NaN or above 1e9.
std::string duration_text(double seconds);

/// Returns the current local time in `format`, as in strftime(3); "" if the result has 64 bytes or more.
std::string local_time_text(const char* format);

/// Measures time by monotonic_s(), from construction on.
class Stopwatch {
 public:
  Stopwatch() : start_s_(monotonic_s()) {}
  /// Returns the seconds since construction or the last restart().
  double seconds() const { return monotonic_s() - start_s_; }
  /// Returns seconds(), and starts again at 0.
  double restart();

 private:
  double start_s_;
};

}  // namespace roll
