// Measures the memory of each phase of a step: this process's resident set, sampled every 50 ms and at the end of each
// phase. Shorter peaks may be missed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "track/metrics.h"

namespace roll {

class MemoryWatch {
 public:
  MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Begins a phase, and ends the one before.
  void begin(const std::string& phase);
  /// Returns memory/<phase>/resident_bytes@max for the phases since the last call, the current one included.
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
