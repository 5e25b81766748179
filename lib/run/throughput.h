// Measures a step's speed: tokens per second, and model FLOPs utilization (MFU) of training.
#pragma once

#include "experience/experience.h"
#include "step/roles.h"
#include "step/step_settings.h"
#include "track/metrics.h"

namespace roll {

/// Returns the FLOPs to train a model on the step once: forward and backward of every sequence. Only response tokens go
/// through the lm head; recomputation is not counted.
double training_flops(const StepFacts& step, const ModelSpec& spec, bool with_lm_head);

/// Returns the FLOPs of all roles that the step trains, times their epochs.
double training_flops(const StepFacts& facts, const Roles& roles, const StepSettings& settings, int64_t step);

class Throughput {
 public:
  /// `num_training`: how many of the `num_ranks` ranks hold a trained model.
  Throughput(at::Device device, at::ScalarType dtype, int64_t num_ranks, int64_t num_training)
      : device_(device), dtype_(dtype), num_ranks_(num_ranks), num_training_(num_training) {}

  /// Adds time/step_train, and perf/mfu over the training ranks.
  void add_training(double flops, double seconds, Metrics& metrics);
  /// Adds system/{num_tokens,samples,global_step,tps}, perf/tokens_per_s_per_rank and time/step_total.
  void add_step(const StepFacts& facts, int64_t step, double seconds, Metrics& metrics) const;

 private:
  void measure_peak();

  at::Device device_;
  at::ScalarType dtype_;
  int64_t num_ranks_, num_training_;
  double peak_ = 0;                        // FLOP/s of this rank
  double trained_s_ = 0, measured_s_ = 0;  // training time, and time spent measuring the peak
};

}  // namespace roll
