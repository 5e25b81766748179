// Checks the order in which ranks launch collectives, by the rules under which NCCL runs them with
// NCCL_LAUNCH_ORDER_IMPLICIT, which transport/nccl_communicator.cpp sets. A device starts its collectives in this
// order. Each holds one of the device's slots until all ranks of its group have started it, and those of one
// communicator run one after the other. Two ranks that launch collectives of two groups in opposite orders may then
// wait for each other forever, although the same code ends over MPI and TCP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

/// A collective that a rank has launched. Ranks of one communicator have equal `communicator` and number its
/// collectives alike.
struct LaunchedCall {
  std::string communicator;  // unique in the world
  int64_t number = 0;        // how many collectives the communicator ran before
  int num_ranks = 1;         // size of the communicator
  bool on_host = false;      // over host memory: the rank waits for its device before, and for the others
  std::string name;          // for errors: "train_actor/tp/all_reduce"
};

/// Returns "" if all collectives end; otherwise which ones ranks wait in forever. `launches`: of each rank, in order;
/// all ranks of the world. `num_slots`: how many collectives a device runs at the same time.
std::string stuck_launches(const std::vector<std::vector<LaunchedCall>>& launches, int num_slots);

}  // namespace roll
