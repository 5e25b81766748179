// Threads that load cores and memory as a host's other ranks will. time_forecast.cpp runs them while it measures one
// rank's work (model_trial.h).
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace roll {

class BusyNeighbours {
 public:
  /// Starts `count` threads, which run until the object is destroyed.
  explicit BusyNeighbours(int64_t count);

 private:
  std::vector<std::jthread> threads_;  // stopped and joined by the destructor
};

}  // namespace roll
