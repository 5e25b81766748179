// Learning-rate schedules with the names, arguments and values of lr_scheduler_type in Hugging Face's transformers, for
// Learner. reduce_lr_on_plateau and greedy, which follow a metric, do not exist here.
#pragma once

#include <cstdint>
#include <optional>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// Values of the key lr_scheduler_type.
enum class LrScheduleType {
  kLinear,
  kCosine,
  kCosineWithRestarts,
  kPolynomial,
  kConstant,
  kInverseSqrt,
  kCosineWithMinLr,
  kCosineWarmupWithMinLr,
  kWarmupStableDecay
};
constexpr auto enum_names(LrScheduleType) {
  return std::to_array<Named<LrScheduleType>>({{LrScheduleType::kLinear, "linear"},
                                               {LrScheduleType::kCosine, "cosine"},
                                               {LrScheduleType::kCosineWithRestarts, "cosine_with_restarts"},
                                               {LrScheduleType::kPolynomial, "polynomial"},
                                               {LrScheduleType::kConstant, "constant"},
                                               {LrScheduleType::kConstant, "constant_with_warmup"},
                                               {LrScheduleType::kInverseSqrt, "inverse_sqrt"},
                                               {LrScheduleType::kCosineWithMinLr, "cosine_with_min_lr"},
                                               {LrScheduleType::kCosineWarmupWithMinLr, "cosine_warmup_with_min_lr"},
                                               {LrScheduleType::kWarmupStableDecay, "warmup_stable_decay"}});
}

/// Shape of a warm-up or decay of warmup_stable_decay.
enum class LrRamp { kLinear, kCosine, kOneMinusSqrt };
constexpr auto enum_names(LrRamp) {
  return std::to_array<Named<LrRamp>>(
      {{LrRamp::kLinear, "linear"}, {LrRamp::kCosine, "cosine"}, {LrRamp::kOneMinusSqrt, "1-sqrt"}});
}

/// Arguments of the schedules, keys of lr_scheduler_kwargs; the help texts say which schedule takes which. Unset:
/// transformers' default.
struct LrScheduleArgs {
  std::optional<double> num_cycles, lr_end, power, min_lr, min_lr_rate, warmup_lr_rate, min_lr_ratio;
  std::optional<int64_t> timescale, num_stable_steps, num_decay_steps;
  std::optional<LrRamp> warmup_type, decay_type;

  void fields(Keys& v) {
    v("num_cycles", num_cycles,
      "cosine schedules: waves until the last update, 0.5 by default; cosine_with_restarts: descents, 1 by default",
      above_to(0, 1'000'000));
    v("lr_end", lr_end, "polynomial: the last learning rate; null: 1e-7, as in transformers", within(0, 1'000'000));
    v("power", power, "polynomial: exponent of the share of updates that remain; null: 1", above_to(0, 1'000'000));
    v("min_lr", min_lr, "cosine_with_min_lr, cosine_warmup_with_min_lr: the last learning rate", within(0, 1'000'000));
    v("min_lr_rate", min_lr_rate, "instead of min_lr: the last learning rate as a share of learning_rate",
      within(0, 1));
    v("warmup_lr_rate", warmup_lr_rate,
      "cosine_warmup_with_min_lr: the first learning rate as a share of learning_rate; null: 1 / warmup_steps",
      within(0, 1));
    v("min_lr_ratio", min_lr_ratio,
      "warmup_stable_decay: the first and the last learning rate as a share of learning_rate; null: 0", within(0, 1));
    v("timescale", timescale, "inverse_sqrt: its time scale in updates; null: warmup_steps, or 10000 without a warm-up",
      at_least(1));
    v("num_stable_steps", num_stable_steps,
      "warmup_stable_decay: updates at learning_rate; null: all updates except warm-up and decay", at_least(0));
    v("num_decay_steps", num_decay_steps, "warmup_stable_decay: updates of the decay", at_least(0));
    v("warmup_type", warmup_type, "warmup_stable_decay: shape of the warm-up; null: linear");
    v("decay_type", decay_type, "warmup_stable_decay: shape of the decay; null: cosine");
  }
};

/// Schedule of a run. A step here is an optimizer update.
struct LrSchedule {
  LrScheduleType type = LrScheduleType::kConstant;
  double peak_lr = 0;        // key learning_rate
  int64_t warmup_steps = 0;  // updates of the warm-up; 0: none
  int64_t total_steps = 1;   // optimizer updates of the whole run, warm-up included
  LrScheduleArgs args{};

  /// Returns the learning rate of update `step`, counted from 0: the value of transformers.get_scheduler after `step`
  /// scheduler steps. Only `constant` differs: it takes a warm-up here, like constant_with_warmup.
  double at(int64_t step) const;

  /// Throws UserError if `args` sets an argument that the schedule does not take, or lacks one that it needs. Also
  /// throws if min_lr is above peak_lr, or if polynomial's last learning rate is not below peak_lr.
  void check_args() const;

 private:
  // These return learning rates divided by peak_lr. now: number of the update, from 0.
  double during_warmup(double now) const;
  double after_warmup(double now) const;
  double min_rate() const;
};

}  // namespace roll
