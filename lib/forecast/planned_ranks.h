// Ranks that run a step's own code without a machine: each is a thread (dist/thread_ranks.h) whose communicator counts
// what its collectives would make it send and get (collective_cost.h). Numbers and bytes in host memory pass between
// them, so that all ranks take the branches that they would; tensors without data (ops/planned_tensors.h) are only
// counted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "forecast/collective_cost.h"
#include "forecast/rank_traffic.h"

namespace roll {

/// A world, and the smaller one whose ranks stand for its own: there they have the same places, and groups of the size
/// that the world has.
struct PlannedWorld {
  std::vector<int> asked_rank;  // of each planned rank
  int64_t num_asked = 1;
  Path path = Path::kHost;  // of tensors without data
  int64_t ranks_per_host = 8;
  std::vector<int> running;  // planned ranks that run, ascending; of the others only AbsentWords are known

  int64_t num_planned() const { return std::ssize(asked_rank); }
  int64_t host_of(int planned_rank) const { return asked_rank[planned_rank] / ranks_per_host; }
};

/// What a planned rank that does not run says where all gather bytes; empty: what the first one that runs says.
using AbsentWords = std::function<std::string(int planned_rank, std::string_view name)>;

/// Runs `body(rank, world, traffic)` on each running rank, whose communicator puts what it counts into `traffic`.
/// `make_groups` splits the world that is asked for as `body` does its own, before all else. The first error of a body
/// is thrown. Bug: ranks in different collectives, or all waiting for others.
void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& asked)>& make_groups,
                       const AbsentWords& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body);

}  // namespace roll
