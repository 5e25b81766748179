// Measures the peak host memory of each phase of a training step: this process's resident set, sampled every 50 ms by a
// thread, and at both ends of a phase. Shorter peaks may be missed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "track/metrics.h"

namespace roll {

/// Thread-safe.
class MemoryWatch {
 public:
  /// Starts the thread. Nothing is measured before the first begin().
  MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Begins a phase, such as "train", and ends the one before.
  void begin(const std::string& phase);
  /// Returns the metrics memory/<phase>/resident_bytes@max, this rank's peaks in bytes, for all phases since the last
  /// call, the current one included. "@max" makes the largest value of all ranks count (track/metrics.h).
  Metrics take();

 private:
  void sample();
  void watch(const std::stop_token& stop);

  std::mutex mutex_;  // for phase_ and peak_bytes_
  std::string phase_;
  std::map<std::string, int64_t> peak_bytes_;
  std::condition_variable_any wake_;
  std::jthread watcher_;  // last: ends before the members that it writes
};

}  // namespace roll
