#include "run/throughput.h"

#include <algorithm>

#include "base/clock.h"
#include "machine/device_speed.h"
#include "model/mtp.h"

namespace roll {

namespace {

constexpr double kMeasuredShare = 0.01;  // share of training time
constexpr int kMoreMeasurements = 5;     // when training beats the measured peak

}  // namespace

double training_flops(const StepFacts& step, const ModelSpec& spec, bool with_lm_head) {
  int64_t num_lm_head_rows = 0;
  for (const ResponseFacts& response : step.responses)
    if (with_lm_head && response.is_judged) num_lm_head_rows += response.num_model_tokens();
  const ForwardFlops forward(spec);
  double flops = 3 * forward(0, num_lm_head_rows);
  for (const int64_t length : step.lengths()) flops += 3 * forward(length, 0);
  if (!with_lm_head) return flops;
  const MtpTrainingFlops head(spec);
  flops += head(0, num_lm_head_rows);
  for (const int64_t length : step.lengths()) flops += head(length, 0);
  return flops;
}

double training_flops(const StepFacts& facts, const Roles& roles, const StepSettings& settings, int64_t step) {
  double flops = 0;
  for (const RoleUpdates& update : settings.updates)
    if (step >= update.first_step)
      flops += training_flops(facts, roles.all.at(update.role).spec, update.has_lm_head) *
               static_cast<double>(update.training.epochs.num_epochs);
  return flops;
}

void Throughput::add_training(double flops, double seconds, Metrics& metrics) {
  // Repeats the measurement: beside other work, one may be far below the device's peak.
  const double reached = flops / (seconds * static_cast<double>(num_training_));
  trained_s_ += seconds;
  if (measured_s_ <= kMeasuredShare * trained_s_) measure_peak();
  for (int retry = 0; retry < kMoreMeasurements && reached > peak_; ++retry) measure_peak();
  metrics.add("time/step_train", seconds);
  metrics.add("perf/mfu", reached / peak_);
}

void Throughput::measure_peak() {
  const Stopwatch watch;
  peak_ = std::max(peak_, measure_matmul_peak(device_, dtype_));
  measured_s_ += watch.seconds();
}

void Throughput::add_step(const StepFacts& facts, int64_t step, double seconds, Metrics& metrics) const {
  const auto tokens = static_cast<double>(facts.num_tokens());
  metrics.add("system/num_tokens", tokens);
  metrics.add("system/samples", static_cast<double>(facts.num_sequences()));
  metrics.add("system/global_step", static_cast<double>(step));
  metrics.add("system/tps", tokens / seconds);
  metrics.add("perf/tokens_per_s_per_rank", tokens / seconds / static_cast<double>(num_ranks_));
  metrics.add("time/step_total", seconds);
}

}  // namespace roll
