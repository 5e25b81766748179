// Runs the code of a training step on simulated ranks in this process, to count their communication; used by
// planned_step.h. There are three sets of ranks:
//   requested  ranks of the world that is simulated
//   planned    ranks of a smaller world, where each stands for one requested rank
//   running    the planned ranks that run the code
// Each running rank is a thread (dist/thread_ranks.h) with a communicator of kind `planned`. This counts the bytes that
// its collectives would send and receive (collective_cost.h) in the groups of the requested world. Data in host memory
// is sent between running ranks, so that they take the right branches; tensors without data (ops/planned_tensors.h) are
// only counted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "forecast/collective_cost.h"
#include "forecast/rank_traffic.h"

namespace roll {

/// The three sets of ranks, and where the requested ones run.
struct PlannedWorld {
  std::vector<int> requested_rank;  // [planned ranks] the requested rank that each stands for
  int64_t num_requested = 1;        // number of ranks of the requested world
  Path path = Path::kHost;          // path of tensors without data
  int64_t ranks_per_host = 8;       // ranks on each host of the requested world
  std::vector<int> running;         // running ranks, as ranks of the planned world, ascending

  int64_t num_planned() const { return std::ssize(requested_rank); }
  /// Returns the host, in the requested world, of the requested rank that `planned_rank` stands for.
  int64_t planned_host(int planned_rank) const { return requested_rank[planned_rank] / ranks_per_host; }
};

/// Returns the bytes that a planned rank which does not run contributes to the call `name` of all_gather_bytes() or
/// gather_bytes(). "": the bytes of the group's first running rank are used. May be called on any running rank's
/// thread.
using AbsentMessages = std::function<std::string(int planned_rank, std::string_view name)>;

/// Calls `body(rank, world, traffic)` on a thread for each running rank, all at once. `rank`: its rank in the planned
/// world. `world`: the planned world's communicator. `traffic`: the traffic that this communicator and its groups
/// count. Before that, each thread calls `make_groups` with a communicator of the requested world that can only split.
/// make_groups must make the groups of the requested world in the order in which `body` makes the groups of the planned
/// world. Returns when all threads have ended; rethrows the first error. Throws Bug if ranks make different calls, if
/// all wait for others, or, with all ranks of a requested world on GPUs running, if NCCL might let them do so
/// (launch_order.h).
void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& requested)>& make_groups,
                       const AbsentMessages& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body);

}  // namespace roll
