// How much memory each phase of a step takes: what this process holds of the host's memory (its resident set), looked
// at every 50 ms and at the end of each phase. Peaks shorter than that may be missed.
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

  /// From here on it is this phase.
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
