// Adds metrics of a step's work and traffic: packing/* (`roll pack-stats` computes the same values before a run),
// comm/*, pipeline/* and <model>/moe/*. Used by updates.h, role_forwards.h and StepTrainer. The argument `model` is the
// metrics' prefix of a trained model ("actor", "critic", "sft", "dpo", "distill"), or the name of a forward pass
// ("reference", "old_log_probs", "values", "teacher").
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
struct TokenLogProbs;

/// Returns "packing/" for actor, sft, dpo and distill, and "packing/<model>/" for others.
std::string packing_prefix(const std::string& model);

/// Adds one value of each of these metrics under packing_prefix(model), for one batch. The metrics of a step are means
/// over its batches:
///   fill                tokens / token budget of each non-empty micro-batch; only with a budget
///   shared              tokens saved by prefix sharing / tokens of the sequences; only with prefix sharing
///   padding             alignment tokens / all tokens
///   num_micro_batches   micro-batches per rank
///   imbalance           max / mean - 1 of the ranks' FLOPs
///   imbalance_tokens    max / mean - 1 of the ranks' tokens
void add_packing_metrics(const std::string& model, const BatchStats& stats, Metrics& metrics);

/// Adds packing_prefix(model) + wait_s: mean seconds that ranks wait for the slowest one in an update, which uneven
/// work costs. The metric of a step is the sum over its updates. compute_s: this rank's seconds in one update.
/// **Collective** over `ranks`.
void add_wait_metric(const std::string& model, double compute_s, Communicator& ranks, Metrics& metrics);

/// Adds for one update, as pipeline/<model>/...:
///   bubble    share of the time that a pipeline stage is idle if all micro-batches take equally long
///   idle      the same with the measured CPU time of passes, mean over ranks; on the CPU only
///   waiting   share of the time that stages waited for each other, over all ranks
/// update: result on this rank. **Collective** over the mesh.
void add_pipeline_metrics(const std::string& model, const PipelineShape& shape, int64_t num_micro_batches,
                          const UpdateResult& update, Mesh& mesh, Metrics& metrics);

/// Adds "comm/<phase>/<group of ranks>/<collective>_bytes": bytes that this rank sent since the last call, which resets
/// the counters. Entries with 0 bytes are left out.
void add_traffic_metrics(Traffic& traffic, Metrics& metrics);

/// Adds comm/<model>/reduce_s, the seconds of an update's gradient collectives, and comm/<model>/reduce_hidden_s, the
/// part that overlapped backward. Both are this rank's. The metrics of a step are sums over its updates.
void add_reduction_metrics(const std::string& model, const UpdateTrace& update, Metrics& metrics);

/// Adds to `result` the loss of the policy's MTP head (model/mtp.h): the mean over the `num_tokens` trained tokens of
/// the mini-batch of minus computed.mtp_log_probs, times `coef`; and its metrics.
void add_mtp_loss(const std::string& model, const TokenLogProbs& computed, double coef, int64_t num_tokens,
                  LossResult& result);

/// Adds the routers' metrics <model>/moe/... to a micro-batch's loss result. routers: null: does nothing.
/// **Collective** over the context-parallel ranks.
void add_router_metrics(const std::string& model, const RouterTraining* routers, LossResult& result);

}  // namespace roll
