// Threads that load cores and memory like the other ranks of a host while one rank is measured (model_trial.h).
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace roll {

class BusyNeighbours {
 public:
  explicit BusyNeighbours(int64_t count);

 private:
  std::vector<std::jthread> threads_;  // stopped and joined by the destructor
};

}  // namespace roll
