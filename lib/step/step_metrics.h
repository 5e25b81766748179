// Metrics of a step's work and traffic: packing/* (also of `roll pack-stats`, whose numbers are to be those that a
// training then reports), comm/* and <who>/moe/*.
#pragma once

#include <string>
#include <vector>

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "loss/losses.h"
#include "optim/learner.h"
#include "packing/statistics.h"
#include "pipeline/schedule.h"
#include "step/batches.h"
#include "track/metrics.h"

namespace roll {

class RouterTraining;

/// "packing/" of what is trained first of all (actor, sft), "packing/<who>/" of all else: critic, and the forwards
/// reference, old_log_probs and values.
std::string packing_prefix(const std::string& who);

/// Adds, as means over the batches of a step (fill: over their micro-batches, fillers left out; only with a budget):
///   fill                useful tokens / budget
///   shared              tokens for which others stand / the sequences' tokens; only where prompts are shared
///   padding             tokens that alignment adds / all tokens
///   num_micro_batches   of each rank
///   imbalance           max / mean - 1 of the ranks' FLOPs
///   imbalance_tokens    max / mean - 1 of the ranks' tokens
void add_packing_metrics(const std::string& who, const BatchStats& stats, Metrics& metrics);

/// `wait_s`, summed over the updates of a step: how long a rank waits, in the mean over ranks, for the slowest one's
/// gradient: the time that uneven work costs. `compute_s`: this rank's seconds of one update. **Collective**.
void add_wait_metric(const std::string& who, double compute_s, Communicator& ranks, Metrics& metrics);

/// pipeline/<who>/bubble: share of an update in which a stage has nothing to do, were all its micro-batches as long;
/// idle: the same by what the passes took of a core, whatever else the machine does; waiting: share of it that stages
/// waited for each other; these two in the mean over ranks, on a CPU. **Collective**.
void add_pipeline_metrics(const std::string& who, const PipelineShape& shape, int64_t num_micro_batches,
                          const UpdateResult& update, Mesh& mesh, Metrics& metrics);

/// "comm/<phase>/<group>/<collective>_bytes" that this rank sent since the last call; nothing where nothing was sent.
void add_traffic_metrics(Traffic& traffic, Metrics& metrics);

/// comm/<role>/reduce_s: seconds that the gradients' collectives of an update took; reduce_hidden_s: of those, beside
/// backward. Summed over the updates of a step.
void add_reduction_metrics(const std::string& role, const UpdateTrace& update, Metrics& metrics);

/// Beside what the loss of a micro-batch measured: what is measured of its routers, where it has some.
/// **Collective** over cp.
void add_router_metrics(const std::string& who, const RouterTraining* routers, LossResult& result);

}  // namespace roll
