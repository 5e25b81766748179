// Metrics of a step's work and traffic: packing/* (also reported by `roll pack-stats`, with equal values), comm/*,
// pipeline/* and <model>/moe/*.
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

/// Returns "packing/" for the main trained model (actor, sft, dpo, distill), "packing/<model>/" for others: critic, and
/// the forwards reference, old_log_probs and values.
std::string packing_prefix(const std::string& model);

/// Adds means over the batches of a step (fill: over non-empty micro-batches, only with a budget):
///   fill                useful tokens / budget
///   shared              tokens saved by prefix sharing / the sequences' tokens; only with prefix sharing
///   padding             alignment tokens / all tokens
///   num_micro_batches   per rank
///   imbalance           max / mean - 1 of the ranks' FLOPs
///   imbalance_tokens    max / mean - 1 of the ranks' tokens
void add_packing_metrics(const std::string& model, const BatchStats& stats, Metrics& metrics);

/// Adds `wait_s`, summed over the updates of a step: mean time that ranks wait for the slowest one, the cost of uneven
/// work. `compute_s`: this rank's seconds in one update. **Collective**.
void add_wait_metric(const std::string& model, double compute_s, Communicator& ranks, Metrics& metrics);

/// Adds pipeline/<model>/bubble: idle share of a stage if all micro-batches took equally long; idle (CPU only): the
/// same from the measured CPU time of passes; waiting: share that stages waited for each other. The last two are means
/// over ranks. **Collective**.
void add_pipeline_metrics(const std::string& model, const PipelineShape& shape, int64_t num_micro_batches,
                          const UpdateResult& update, Mesh& mesh, Metrics& metrics);

/// Adds "comm/<phase>/<group>/<collective>_bytes" that this rank sent since the last call; entries with 0 bytes are
/// left out.
void add_traffic_metrics(Traffic& traffic, Metrics& metrics);

/// Adds comm/<role>/reduce_s: seconds of an update's gradient collectives, and reduce_hidden_s: the part that overlaps
/// backward. Both are summed over the updates of a step.
void add_reduction_metrics(const std::string& role, const UpdateTrace& update, Metrics& metrics);

/// Adds the routers' metrics to a micro-batch's loss result, if the model has routers. **Collective** over cp.
void add_router_metrics(const std::string& model, const RouterTraining* routers, LossResult& result);

}  // namespace roll
