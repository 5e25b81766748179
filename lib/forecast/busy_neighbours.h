// Threads that load cores and memory as the other ranks of a host will, while one rank's work is measured
// (model_trial.h).
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
