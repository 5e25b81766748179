// Runs the code of a training step on simulated ranks in this process, to count their communication. Three numbers of
// ranks: the requested world, which is simulated; a smaller planned world, whose ranks stand for requested ones; and
// the running ranks, the planned ranks that run the code. Each is a thread (dist/thread_ranks.h) with a communicator
// that counts the bytes that its collectives would send and receive (collective_cost.h) with the requested groups'
// sizes. Data in host memory is sent between running ranks, so that they take the right branches; tensors without data
// (ops/planned_tensors.h) are only counted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "forecast/collective_cost.h"
#include "forecast/rank_traffic.h"

namespace roll {

struct PlannedWorld {
  std::vector<int> requested_rank;  // [number of planned ranks] the requested rank that each stands for
  int64_t num_requested = 1;        // ranks of the requested world
  Path path = Path::kHost;          // path of tensors without data
  int64_t ranks_per_host = 8;       // in the requested world
  std::vector<int> running;         // running ranks: numbers in the planned world, ascending

  int64_t num_planned() const { return std::ssize(requested_rank); }
  /// Returns the host, in the requested world, of the requested rank that `planned_rank` stands for.
  int64_t planned_host(int planned_rank) const { return requested_rank[planned_rank] / ranks_per_host; }
};

/// Returns the bytes that a planned rank that does not run contributes to the call `name` of all_gather_bytes(); ""
/// stands for the bytes of the first running rank of the group.
using AbsentMessages = std::function<std::string(int planned_rank, std::string_view name)>;

/// Calls `body(rank, world, traffic)` on a thread for each running rank: its number in the planned world, the planned
/// world's communicator, and the traffic that this counts. Before that, each thread calls `make_groups` with a
/// communicator of the requested world that can only split; it must make the groups of the requested world in the order
/// in which `body` makes those of the planned one. Returns when all have ended; rethrows the first error. Throws Bug if
/// ranks make different calls, or if all wait for others.
void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& requested)>& make_groups,
                       const AbsentMessages& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body);

}  // namespace roll
