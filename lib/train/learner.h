// One model being trained: its optimizer, its learning rate, and one update out of micro-batch losses.
// The losses carry the whole mini-batch's normalisation (loss/aggregate.h), so gradients are summed over micro-batches
// and ranks, and neither count appears anywhere here.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace roll {

struct LearnerOptions {
  AdamWConfig adamw;
  LrSchedule schedule;
  double max_grad_norm = 1.0;                // <= 0: no clipping
  std::vector<std::string> frozen_prefixes;  // parameters whose names start so are not trained
};

struct UpdateResult {
  double loss = 0;       // of the whole mini-batch
  double grad_norm = 0;  // before clipping, over all ranks
  double lr = 0;
  double compute_s = 0;  // of this rank, from the start to where it waits for the other ranks' gradients
};

class Learner {
 public:
  /// `name` opens error texts ("actor_train"). UserError when frozen_prefixes leave nothing to train, or match nothing.
  Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, Communicator& ranks);

  /// Runs micro_loss(k) and its backward for k = 0..num_micro_batches-1 (this rank's; the number may differ between
  /// ranks), sums the gradients over the ranks, clips, and updates. An undefined loss counts as 0 (a micro-batch
  /// without a valid token). **Collective**. SystemError when the gradient is not finite: weights stay as they were.
  UpdateResult update(int64_t num_micro_batches, const std::function<at::Tensor(int64_t)>& micro_loss);

  /// Moves the learning-rate schedule on by one update that had nothing to learn from; weights and moments stay.
  void skip_update() { ++num_updates_; }

  /// The summed gradient of the last update, before clipping: only when keep_gradient was set.
  void keep_gradient(bool keep) { keeps_gradient_ = keep; }
  const NamedTensors& kept_gradient() const { return kept_gradient_; }

  /// FlatAdamW's.
  void put_away(bool keeps_parameters) { optimizer_.put_away(keeps_parameters); }
  void bring_back() { optimizer_.bring_back(); }

  double lr() const { return options_.schedule.at(num_updates_); }
  int64_t num_parameters() const { return optimizer_.num_parameters(); }

 private:
  std::string name_;
  LearnerOptions options_;
  Communicator& ranks_;
  FlatAdamW optimizer_;
  int64_t num_updates_ = 0;
  bool keeps_gradient_ = false;
  NamedTensors kept_gradient_;
};

}  // namespace roll
