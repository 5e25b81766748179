// Runs the code of a step on planned ranks, without a machine. Each rank is a thread (dist/thread_ranks.h) whose
// communicator counts the bytes that its collectives would send and receive (collective_cost.h). Data in host memory is
// sent for real, so that all ranks take the right branches; tensors without data (ops/planned_tensors.h) are counted
// only.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "forecast/collective_cost.h"
#include "forecast/rank_traffic.h"

namespace roll {

/// Simulated ("requested") world, and a smaller planned world whose ranks stand for its ranks. They keep their places
/// in their groups; collectives count with the requested world's group sizes.
struct PlannedWorld {
  std::vector<int> requested_rank;  // [planned rank] the requested rank that it stands for
  int64_t num_requested = 1;
  Path path = Path::kHost;  // path of tensors without data
  int64_t ranks_per_host = 8;
  std::vector<int> running;  // planned ranks that run, ascending; others contribute only AbsentMessages

  int64_t num_planned() const { return std::ssize(requested_rank); }
  int64_t planned_host(int planned_rank) const { return requested_rank[planned_rank] / ranks_per_host; }
};

/// Returns the bytes that a planned rank that does not run contributes to all_gather_bytes; empty: those of the first
/// running rank.
using AbsentMessages = std::function<std::string(int planned_rank, std::string_view name)>;

/// Runs `body(rank, world, traffic)` on each running rank and counts its communication in `traffic`. First calls
/// `make_groups`, which splits the requested world in the same order as `body` splits the planned one. Throws the first
/// error of a body. Bug: ranks are in different collectives, or all wait for others.
void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& requested)>& make_groups,
                       const AbsentMessages& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body);

}  // namespace roll
