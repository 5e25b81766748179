// Trains one model: its optimizer, its learning rate, and updates from micro-batch losses. The losses are normalised
// over the whole mini-batch (loss/aggregate.h), so gradients are summed over micro-batches and ranks, and neither count
// appears here.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "dist/mesh.h"
#include "model/parameter_shards.h"
#include "optim/gathered_layers.h"
#include "optim/gradient_reducer.h"
#include "optim/optimizer.h"
#include "optim/optimizer_shard.h"
#include "optim/schedule.h"

namespace roll {

struct LearnerOptions {
  AdamWConfig adamw;
  LrSchedule schedule;
  double max_grad_norm = 1.0;                // <= 0: no clipping
  std::vector<std::string> frozen_prefixes;  // parameters with these prefixes are not trained
  bool gathers_layers = false;               // ZeRO stage 3: each data rank holds slices of the layers
  bool shares_optimizer = true;              // each data rank holds a slice of the optimizer state; else all
};

bool is_frozen(const std::string& parameter, const std::vector<std::string>& frozen_prefixes);

/// The ranks that train a model together.
struct LearnerRanks {
  /// Data ranks only: each holds the whole model.
  LearnerRanks(Communicator& ranks) : dp(ranks), shards(ranks) {}  // NOLINT: any communicator is such ranks
  LearnerRanks(Mesh& mesh, const ParameterShards& p)
      : dp(mesh.dp()),
        shards(mesh.shards()),
        parts(&p),
        experts(mesh.experts()),
        expert_shards(experts ? &mesh.expert_shards() : nullptr) {}

  Communicator& dp;      // ranks with different micro-batches
  Communicator& shards;  // ranks with the same parameters: dp x cp
  const ParameterShards* parts = nullptr;
  Communicator* experts = nullptr;        // ranks that split the experts; null: each of `shards` holds them all
  Communicator* expert_shards = nullptr;  // ranks with the same experts; null if `experts` is null

  PipelineStage* stage() const { return parts ? parts->stage() : nullptr; }  // null: this rank has all layers
};

/// A micro-batch's loss, undefined without a valid token, and metric values to fetch at the end of the update.
struct MicroLoss {
  MicroLoss() = default;
  MicroLoss(at::Tensor l, std::vector<at::Tensor> n = {}) : loss(std::move(l)), numbers(std::move(n)) {}  // NOLINT

  at::Tensor loss;
  std::vector<at::Tensor> numbers;
};

struct UpdateResult {
  double loss = 0;       // over the whole mini-batch
  double grad_norm = 0;  // before clipping, over all ranks
  double clip_coef = 1;  // factor by which clipping scales the gradient
  double lr = 0;
  double compute_s = 0;     // this rank's seconds from the start until it waits for other ranks' gradients
  double stage_wait_s = 0;  // part of compute_s spent waiting for other pipeline stages; 0 on a GPU
  std::optional<std::vector<double>> pass_s{};  // CPU seconds per pipeline pass; unset on a GPU
  bool skipped = false;                         // loss or norm was not finite: weights and moments are unchanged
  std::vector<at::Tensor> numbers{};            // the micro-batches' metric values: [n] float64 each, on the host
};

class Learner {
 public:
  /// `name` starts error texts ("actor_train"). UserError: frozen_prefixes leave nothing to train, or match nothing.
  Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, const LearnerRanks& ranks);

  /// Runs micro_loss(k) and its backward for k = 0..num_micro_batches-1 (this rank's; data ranks may have different
  /// numbers), in pipeline order if stages share the model. Then sums the gradients over ranks, clips, and updates.
  /// Fetches nothing from the device before all are computed. An undefined loss counts as 0: a micro-batch without
  /// valid tokens, or a stage that is not the last. If loss or gradient norm is not finite, only the schedule advances,
  /// and the result says `skipped` on every rank. **Collective**.
  UpdateResult update(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss);

  /// Advances the learning-rate schedule by an update without data; weights and moments stay.
  void skip_update() { ++num_updates_; }

  /// Returns the last update's whole summed gradient, before clipping, on every rank; only with keep_gradients.
  void keep_gradients(bool keep) { keeps_gradient_ = keep; }
  const NamedTensors& kept_gradient() const { return kept_gradient_; }

  /// Returns the checkpoint's data besides the weights: the position in the schedule, and this rank's optimizer state
  /// (nullopt if another rank holds a copy).
  Json state() const;
  std::optional<OptimizerShard> optimizer_shard() const;
  /// Loads both; `folder` and `name` as in load_optimizer(). UserError: as for load_optimizer().
  void load(const Json& state, const std::filesystem::path& folder, const std::string& name);

  /// Like FlatAdamW::offload() and reload().
  void offload(bool keeps_parameters);
  void reload();

  /// Returns how many updates in a row were skipped, up to the last one.
  int64_t num_skipped_in_a_row() const { return num_skipped_in_a_row_; }

  /// Returns the number of updates so far, skipped ones included.
  int64_t num_updates() const { return num_updates_; }
  /// Returns true if all data ranks must run equally many micro-batches, because each gathers layers.
  bool gathers_layers() const { return parts_.front()->layers != nullptr; }
  /// Returns where the trained model gets its layers (Backbone::use_store); null if they are always whole.
  std::shared_ptr<LayerStore> layer_store() const { return parts_.front()->layers; }
  double lr() const { return options_.schedule.at(num_updates_); }
  const PipelineStage* stage() const { return ranks_.stage(); }  // see LearnerRanks
  /// Return this rank's number of trained parameters, and its bytes of optimizer state.
  int64_t num_parameters() const;
  int64_t optimizer_bytes() const;
  /// Returns the times of the last update; last_loss() returns the loss of its whole mini-batch.
  const UpdateTrace& trace() const { return trace_; }
  double last_loss() const { return last_loss_; }

 private:
  /// Outputs of this rank's micro-batches, fetched after their gradients are summed.
  struct Accumulated {
    std::vector<at::Tensor> losses, numbers;
    std::optional<std::vector<double>> pass_s{};
  };
  /// Runs forward and backward.
  Accumulated accumulate(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss);
  /// Fetches the update's loss and gradient norm, over all ranks, and the micro-batches' metrics. The host waits for
  /// the device here.
  void fetch(const Accumulated& accumulated, UpdateResult& result);
  void expect_last();
  /// Parameters that the same ranks hold.
  struct Part {
    Part(const NamedTensors& part_parameters, const LearnerOptions& options, const LearnerRanks& ranks, bool is_expert);
    NamedTensors parameters;
    bool is_of_experts;
    Communicator& shards;
    FlatAdamW optimizer;
    GradientReducer reducer;
    std::shared_ptr<GatheredLayers> layers;  // null: all layers are always whole
  };
  void add_part(bool is_expert);
  void sum_copies(const FlatAdamW& optimizer, const Bucket& bucket, int64_t index);
  /// Returns the norm over all parts and ranks, from this rank's sums of squares. NaN on all ranks if any rank's `loss`
  /// is not finite.
  double gradient_norm(const at::Tensor& part_squares, double loss);
  void keep_gradient();
  void gather_parameters();

  std::string name_;
  LearnerOptions options_;
  LearnerRanks ranks_;
  NamedTensors parameters_;                   // trained ones only
  std::vector<std::unique_ptr<Part>> parts_;  // one part; if ranks split the experts, a second one for these
  int64_t num_updates_ = 0;
  int64_t num_skipped_in_a_row_ = 0;
  bool keeps_gradient_ = false;
  NamedTensors kept_gradient_;
  UpdateTrace trace_;
  double last_loss_ = 0;
};

}  // namespace roll
