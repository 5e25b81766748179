// The memory of each phase of a step: the resident set of this process, sampled every 50 ms and at the end of each
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
  /// memory/<phase>/resident_bytes@max of the phases since the last call, that of now included.
  Metrics take();

 private:
  void look();
  void watch(const std::stop_token& stop);

  std::mutex mutex_;  // of both
  std::string phase_;
  std::map<std::string, int64_t> most_;
  std::condition_variable_any woken_;
  std::jthread watcher_;  // last: it ends before what it writes
};

}  // namespace roll
