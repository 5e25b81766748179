// How fast a step was: tokens a second, and the share of the device's peak that training reached.
#pragma once

#include "experience/experience.h"
#include "step/roles.h"
#include "step/step_settings.h"
#include "track/metrics.h"

namespace roll {

/// Floating-point operations of training a model on the step once: forward and backward of every sequence, of whose
/// tokens only those of responses go through the lm head; recomputation is not counted.
double training_flops(const StepFacts& step, const ModelSpec& spec, bool with_lm_head);

/// As above for all roles that the step trains, as often as it does.
double training_flops(const StepFacts& facts, const Roles& roles, const StepSettings& settings, int64_t step);

class Throughput {
 public:
  /// `num_training` of the `num_ranks` ranks hold a model that is trained.
  Throughput(at::Device device, at::ScalarType dtype, int64_t num_ranks, int64_t num_training)
      : device_(device), dtype_(dtype), num_ranks_(num_ranks), num_training_(num_training) {}

  /// time/step_train, and perf/mfu of the work of those ranks together.
  void add_training(double flops, double seconds, Metrics& metrics);
  /// system/{num_tokens,samples,global_step,tps}, perf/tokens_per_s_per_rank and time/step_total.
  void add_step(const StepFacts& facts, int64_t step, double seconds, Metrics& metrics) const;

 private:
  void measure_peak();

  at::Device device_;
  at::ScalarType dtype_;
  int64_t num_ranks_, num_training_;
  double peak_ = 0;                        // floating-point operations per second of this rank
  double trained_s_ = 0, measured_s_ = 0;  // in all, and what measuring the peak took of it
};

}  // namespace roll
