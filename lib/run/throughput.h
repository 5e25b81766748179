// Measures a training step's speed: tokens per second, and model FLOPs utilization (MFU) of training. Used by the
// pipelines (lib/train).
#pragma once

#include "experience/experience.h"
#include "step/roles.h"
#include "step/step_settings.h"
#include "track/metrics.h"

namespace roll {

/// Returns the FLOPs to train a model once on all sequences of the step, over all ranks: 3 times a forward pass.
/// `with_lm_head` counts the lm head, through which only response tokens go. Recomputation is not counted.
double training_flops(const StepFacts& step, const ModelSpec& spec, bool with_lm_head);

/// Returns the FLOPs of all training in step `step`, over all ranks: for each role that the step trains, its FLOPs
/// times its number of epochs.
double training_flops(const StepFacts& facts, const Roles& roles, const StepSettings& settings, int64_t step);

class Throughput {
 public:
  /// `device` is this rank's device, and `dtype` the type of its matrix products; the MFU is relative to the measured
  /// peak speed of such products. `num_training` of the job's `num_ranks` ranks hold a trained model.
  Throughput(at::Device device, at::ScalarType dtype, int64_t num_ranks, int64_t num_training)
      : device_(device), dtype_(dtype), num_ranks_(num_ranks), num_training_(num_training) {}

  /// Adds time/step_train and perf/mfu to `metrics`. `flops` is the sum over all ranks, `seconds` the time of training
  /// in this step. Measures this device's peak speed now and then, in about 1 % of the training time.
  void add_training(double flops, double seconds, Metrics& metrics);
  /// Adds system/{num_tokens,samples,global_step,tps}, perf/tokens_per_s_per_rank and time/step_total to `metrics`.
  /// `facts` are those of all sequences of the step, `seconds` is the whole step's time.
  void add_step(const StepFacts& facts, int64_t step, double seconds, Metrics& metrics) const;

 private:
  void measure_peak();

  at::Device device_;
  at::ScalarType dtype_;
  int64_t num_ranks_, num_training_;
  double peak_ = 0;                        // largest measured FLOP/s of this rank's device
  double trained_s_ = 0, measured_s_ = 0;  // training time, and time spent measuring the peak
};

}  // namespace roll
