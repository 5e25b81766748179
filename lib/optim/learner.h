// One model being trained: its optimizer, its learning rate, and one update out of micro-batch losses.
// The losses carry the whole mini-batch's normalisation (loss/aggregate.h), so gradients are summed over micro-batches
// and ranks, and neither count appears anywhere here.
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
  std::vector<std::string> frozen_prefixes;  // parameters whose names start so are not trained
  bool gathers_layers = false;               // of which each data rank holds a slice, as of the optimizer's state
  bool shares_optimizer = true;              // each data rank holds a slice of the optimizer's state; else all of it
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

  Communicator& dp;      // have different micro-batches
  Communicator& shards;  // hold the same parameters: dp x cp
  const ParameterShards* parts = nullptr;
  Communicator* experts = nullptr;        // share the experts out; null: each of `shards` holds them all
  Communicator* expert_shards = nullptr;  // hold the same experts: not null where `experts` is not

  PipelineStage* stage() const { return parts ? parts->stage() : nullptr; }  // null: this rank has all layers
};

/// Of a micro-batch: its loss, undefined where it has no valid token, and numbers that are fetched with the update's.
struct MicroLoss {
  MicroLoss() = default;
  MicroLoss(at::Tensor l, std::vector<at::Tensor> n = {}) : loss(std::move(l)), numbers(std::move(n)) {}  // NOLINT

  at::Tensor loss;
  std::vector<at::Tensor> numbers;
};

struct UpdateResult {
  double loss = 0;       // of the whole mini-batch
  double grad_norm = 0;  // before clipping, over all ranks
  double clip_coef = 1;  // by which clipping scales the gradient
  double lr = 0;
  double compute_s = 0;     // of this rank, from the start to where it waits for the other ranks' gradients
  double stage_wait_s = 0;  // of these, for other stages of a pipeline; on a GPU nobody waits here
  std::optional<std::vector<double>> pass_s{};  // of a core, of each pass of a pipeline's stage; not on a GPU
  bool skipped = false;                         // loss or norm were not finite: weights and moments are as they were
  std::vector<at::Tensor> numbers{};            // of all micro-batches: [n] float64 each, on the host
};

class Learner {
 public:
  /// `name` opens error texts ("actor_train"). UserError when frozen_prefixes leave nothing to train, or match nothing.
  Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, const LearnerRanks& ranks);

  /// Nothing is fetched from the device until all are computed. Runs micro_loss(k) and its backward for k =
  /// 0..num_micro_batches-1 (this rank's; the number may differ between data ranks), in a pipeline's order where stages
  /// share the model, sums the gradients over the ranks, clips, and updates. An undefined loss counts as 0 (a
  /// micro-batch without a valid token, or on a stage that is not the last). Where the loss or the
  /// gradient's norm is not finite, nothing but the schedule moves on, and the result says `skipped`, on every rank.
  /// **Collective**.
  UpdateResult update(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss);

  /// Moves the learning-rate schedule on by one update that had nothing to learn from; weights and moments stay.
  void skip_update() { ++num_updates_; }

  /// The whole summed gradient of the last update, before clipping, on every rank: only when keep_gradients was set.
  void keep_gradients(bool keep) { keeps_gradient_ = keep; }
  const NamedTensors& kept_gradient() const { return kept_gradient_; }

  /// What a checkpoint holds beside the weights: the position in the schedule, and this rank's optimizer state (nullopt
  /// where another rank holds a copy of it).
  Json state() const;
  std::optional<OptimizerShard> optimizer_shard() const;
  /// Loads both; `folder` and `name` as in load_optimizer(), whose UserErrors it throws.
  void load(const Json& state, const std::filesystem::path& folder, const std::string& name);

  /// As FlatAdamW::offload() and reload().
  void offload(bool keeps_parameters);
  void reload();

  /// How many of the last updates were skipped without one that was done between them.
  int64_t num_skipped_in_a_row() const { return num_skipped_in_a_row_; }

  /// Updates so far, those that were skipped among them.
  int64_t num_updates() const { return num_updates_; }
  /// Whether all data ranks must go through as many micro-batches, as they gather layers in each.
  bool gathers_layers() const { return all_.front()->layers != nullptr; }
  double lr() const { return options_.schedule.at(num_updates_); }
  const PipelineStage* stage() const { return ranks_.stage(); }  // as LearnerRanks has it
  /// Trained parameters, and bytes of optimizer state, of this rank.
  int64_t num_parameters() const;
  int64_t optimizer_bytes() const;
  /// The last update: its times, and the loss of its whole mini-batch.
  const UpdateTrace& trace() const { return trace_; }
  double last_loss() const { return last_loss_; }

 private:
  /// Of this rank's micro-batches: what is fetched once their gradients are summed.
  struct Accumulated {
    std::vector<at::Tensor> losses, numbers;
    std::optional<std::vector<double>> pass_s{};
  };
  /// Forward and backward.
  Accumulated accumulate(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss);
  /// The update's loss and gradient's norm, over all ranks, and the numbers of its micro-batches: where the host waits
  /// for the device.
  void fetch(const Accumulated& accumulated, UpdateResult& result);
  void expect_last();
  /// Parameters that the same ranks hold.
  struct Part {
    Part(const NamedTensors& own, const LearnerOptions& options, const LearnerRanks& ranks, bool of_experts);
    NamedTensors parameters;
    bool is_of_experts;
    Communicator& shards;
    FlatAdamW optimizer;
    GradientReducer reducer;
    std::unique_ptr<GatheredLayers> layers;  // null: all are always here
  };
  void add_part(bool of_experts);
  void sum_copies(const FlatAdamW& optimizer, const Bucket& bucket, int64_t index);
  /// Of this rank's sum of squares of each part. NaN on all ranks where `loss` is not finite on one.
  double gradient_norm(const at::Tensor& squares, double loss);
  void keep_gradient();
  void gather_parameters();

  std::string name_;
  LearnerOptions options_;
  LearnerRanks ranks_;
  NamedTensors parameters_;                 // those that are trained
  std::vector<std::unique_ptr<Part>> all_;  // one, and where ranks share experts out, these apart
  int64_t num_updates_ = 0;
  int64_t num_skipped_in_a_row_ = 0;
  bool keeps_gradient_ = false;
  NamedTensors kept_gradient_;
  UpdateTrace trace_;
  double last_loss_ = 0;
};

}  // namespace roll
