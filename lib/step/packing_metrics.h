// The packing/* metrics of a training: the same function serves `roll pack-stats`, whose numbers are to be those that a
// training then reports.
#pragma once

#include <string>
#include <vector>

#include "dist/communicator.h"
#include "packing/statistics.h"
#include "step/batches.h"
#include "track/metrics.h"

namespace roll {

/// "packing/" of what is trained first of all (actor, sft), "packing/<who>/" of all else: critic, and the forwards
/// reference, old_log_probs and values.
std::string packing_prefix(const std::string& who);

/// Adds, as means over the batches of a step (fill: over their micro-batches, fillers left out; only with a budget):
///   fill                useful tokens / budget
///   padding             tokens that alignment adds / all tokens
///   num_micro_batches   of each rank
///   imbalance           max / mean - 1 of the ranks' FLOPs
///   imbalance_tokens    the same of their tokens
void add_packing_metrics(const std::string& who, const BatchStats& stats, Metrics& metrics);

/// `wait_s`, summed over the updates of a step: how long a rank waits, in the mean over ranks, for the slowest one's
/// gradient: the time that uneven work costs. `compute_s`: this rank's seconds of one update. **Collective**.
void add_wait_metric(const std::string& who, double compute_s, Communicator& ranks, Metrics& metrics);

}  // namespace roll
