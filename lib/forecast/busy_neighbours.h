// Threads that keep cores and memory as busy as other ranks of a host would, while one is measured.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace roll {

class BusyNeighbours {
 public:
  explicit BusyNeighbours(int64_t count);

 private:
  std::vector<std::jthread> threads_;  // asked to stop, and joined, where it ends
};

}  // namespace roll
