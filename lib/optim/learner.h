// Trains one model: a Learner owns its optimizer and its position in the learning-rate schedule. Used by
// step/role_trainer.h. An update takes the losses of this rank's micro-batches. Losses are normalised over the whole
// mini-batch (loss/aggregate.h), so gradients are summed over micro-batches and ranks, and never averaged.
// Data ranks are the data-parallel and context-parallel ranks, which hold the same parameters.
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

/// Settings of a training, equal on all ranks.
struct LearnerOptions {
  AdamWConfig adamw;
  std::optional<MuonConfig> muon{};  // updates the layers' projections; null: AdamW does
  LrSchedule schedule;
  double max_grad_norm = 1.0;                // <= 0: no clipping
  std::vector<std::string> frozen_prefixes;  // parameters whose names begin with one of these are not trained
  bool gathers_layers = false;               // ZeRO stage 3: each data rank holds slices of the layers
  bool shares_optimizer = true;  // each data rank holds a slice of the optimizer state; false: the whole state
};

/// Returns true if the parameter's name begins with one of the prefixes.
bool is_frozen(const std::string& parameter, const std::vector<std::string>& frozen_prefixes);

/// The ranks that train a model together. All references must outlive the Learner that gets them.
struct LearnerRanks {
  /// For ranks that each hold the whole model and have different micro-batches.
  LearnerRanks(Communicator& ranks) : dp(ranks), shards(ranks) {}  // NOLINT: any communicator is such ranks
  /// For the ranks of a mesh. p: how they split the model.
  LearnerRanks(Mesh& mesh, const ParameterShards& p)
      : dp(mesh.dp()),
        shards(mesh.shards()),
        parts(&p),
        experts(mesh.experts()),
        expert_shards(experts ? &mesh.expert_shards() : nullptr) {}

  Communicator& dp;                        // data-parallel ranks, which have different micro-batches
  Communicator& shards;                    // data ranks (dp x cp), which share the optimizer state in slices
  const ParameterShards* parts = nullptr;  // how tensor-parallel ranks and stages split parameters; null: not split
  Communicator* experts = nullptr;         // ranks that split the experts; null: each of `shards` holds all experts
  Communicator* expert_shards = nullptr;   // data ranks with the same experts; null if `experts` is null

  /// Returns this rank's pipeline stage; null if it has all layers.
  PipelineStage* stage() const { return parts ? parts->stage() : nullptr; }
};

/// Result of a micro-batch.
struct MicroLoss {
  MicroLoss() = default;
  MicroLoss(at::Tensor l, std::vector<at::Tensor> n = {}) : loss(std::move(l)), numbers(std::move(n)) {}  // NOLINT

  at::Tensor loss;                  // 0-dim, with gradient; undefined: no valid token, or not the last pipeline stage
  std::vector<at::Tensor> numbers;  // metric values [n] on the device, fetched at the end of the update
};

/// Result of an update on this rank; loss, grad_norm, clip_coef, lr and skipped are equal on all ranks.
struct UpdateResult {
  double loss = 0;                        // loss of the whole mini-batch
  double grad_norm = 0;                   // before clipping, over all ranks; without the MTP head
  double clip_coef = 1;                   // factor by which clipping scales the gradient
  std::optional<double> mtp_grad_norm{};  // the same of the MTP head, which is clipped by itself; unset without one
  double lr = 0;                          // learning rate of this update
  double compute_s = 0;     // this rank's seconds from the start until it waits for other ranks' gradients
  double stage_wait_s = 0;  // part of compute_s spent waiting for other pipeline stages; 0 on a GPU
  std::optional<std::vector<double>> pass_s{};  // CPU seconds per pipeline pass; unset on a GPU or without a pipeline
  bool skipped = false;                         // loss or norm was not finite: weights and moments are unchanged
  std::vector<at::Tensor> numbers{};  // MicroLoss::numbers of all micro-batches in order: [n] float64 each, on the host
};

class Learner {
 public:
  /// name: begins error messages ("actor_train"). parameters: of this rank; the trained ones move to flat buffers, the
  /// others get no gradients. Throws UserError if frozen_prefixes match no parameter, or leave none to train on this
  /// rank. **Collective** over the stages of a pipeline.
  Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, const LearnerRanks& ranks);

  /// Makes one update. Runs micro_loss(k) and its backward for each of this rank's micro-batches, k = 0 ..
  /// num_micro_batches - 1. Data ranks may have different numbers, even 0, unless gathers_layers(). A pipeline stage
  /// runs them in the order of pipeline/schedule.h, once per chunk. Then sums the gradients over ranks, clips, and
  /// updates the parameters. Fetches nothing from the device before all losses are computed. An undefined loss counts
  /// as 0. If the loss or gradient norm is not finite, only the schedule advances, and `skipped` is true on every rank.
  /// **Collective** over all ranks that train the model.
  UpdateResult update(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss);

  /// Advances the learning-rate schedule by one update without changing weights and moments.
  void skip_update() { ++num_updates_; }

  /// Sets whether each following update keeps its gradient for kept_gradient(). All ranks must set the same.
  void keep_gradients(bool keep) { keeps_gradient_ = keep; }
  /// Returns the gradient of the last update that kept it: of whole parameters, summed over ranks, before clipping,
  /// equal on every rank. Empty if no update kept it.
  const NamedTensors& kept_gradient() const { return kept_gradient_; }

  /// Returns the position in the schedule and the count of skipped updates, for a checkpoint.
  Json state() const;
  /// Returns this rank's optimizer state, for a checkpoint; nullopt if another rank saves the same. Views of the state:
  /// valid until the next update.
  std::optional<OptimizerShard> optimizer_shard() const;
  /// Loads state() and the optimizer state in the files folder/<name>_* of all ranks that wrote them, which may have
  /// had another parallel layout. Throws UserError if a file is damaged, or a parameter's state is missing or has
  /// another shape.
  void load(const Json& state, const std::filesystem::path& folder, const std::string& name);

  /// Move the optimizer state to host memory and back, like FlatOptimizer::offload() and reload(). No update may be
  /// made in between.
  void offload(bool keeps_parameters);
  void reload();

  /// Returns the number of updates in a row, up to the last one, that were skipped for a non-finite loss or gradient.
  int64_t num_skipped_in_a_row() const { return num_skipped_in_a_row_; }

  /// Returns the number of updates so far, skipped ones included.
  int64_t num_updates() const { return num_updates_; }
  /// Returns true if layers are gathered in updates (ZeRO stage 3). All data ranks must then run equally many
  /// micro-batches.
  bool gathers_layers() const { return groups_.front()->layers != nullptr; }
  /// Returns the object that gathers the layers of the trained model, to be passed to Backbone::use_store(); null if
  /// layers are always whole.
  std::shared_ptr<LayerStore> layer_store() const { return groups_.front()->layers; }
  /// Returns the learning rate of the next update.
  double lr() const { return options_.schedule.at(num_updates_); }
  /// Returns this rank's pipeline stage; null if it has all layers.
  const PipelineStage* stage() const { return ranks_.stage(); }
  /// Returns the number of trained elements on this rank.
  int64_t num_parameters() const;
  /// Returns the bytes of optimizer state on this rank.
  int64_t optimizer_bytes() const;
  /// Return the times of the last update on this rank, and the loss of its whole mini-batch.
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
  /// Parameters that the same ranks hold, with their optimizer.
  struct ParameterGroup {
    ParameterGroup(const NamedTensors& group_parameters, const LearnerOptions& options, const LearnerRanks& ranks,
                   bool is_expert, bool is_mtp);
    NamedTensors parameters;
    bool is_of_experts, is_of_mtp;
    Communicator& shards;
    FlatOptimizer optimizer;
    GradientReducer reducer;
    std::shared_ptr<GatheredLayers> layers;  // null: all layers are always whole
  };
  void add_group(bool is_expert, bool is_mtp);
  void sum_copies(const FlatOptimizer& optimizer, const Bucket& bucket, int64_t index);
  bool has_mtp() const { return ranks_.parts && ranks_.parts->has_mtp(); }
  /// Returns the norm over all ranks and the groups of the MTP head, or all others, from this rank's sums of squares.
  /// NaN on all ranks if any rank's `loss` is not finite.
  double gradient_norm(const at::Tensor& group_squares, double loss, bool is_for_mtp);
  void keep_gradient();
  void make_step(const UpdateResult& update);
  void gather_parameters();

  std::string name_;
  LearnerOptions options_;
  LearnerRanks ranks_;
  NamedTensors parameters_;                              // trained ones only
  std::vector<std::unique_ptr<ParameterGroup>> groups_;  // one; others for experts that ranks split, and the MTP head
  int64_t num_updates_ = 0;
  int64_t num_skipped_in_a_row_ = 0;
  bool keeps_gradient_ = false;
  NamedTensors kept_gradient_;
  UpdateTrace trace_;
  double last_loss_ = 0;
};

}  // namespace roll
