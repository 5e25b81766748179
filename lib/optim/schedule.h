// Learning-rate schedules, by the names of HF's lr_scheduler_type.
#pragma once

#include <cstdint>

#include "base/names.h"

namespace roll {

enum class LrScheduleType { kLinear, kCosine, kConstant, kInverseSqrt, kPolynomial };
constexpr auto names_of(LrScheduleType) {
  return std::to_array<Named<LrScheduleType>>({{LrScheduleType::kLinear, "linear"},
                                               {LrScheduleType::kCosine, "cosine"},
                                               {LrScheduleType::kConstant, "constant"},
                                               {LrScheduleType::kConstant, "constant_with_warmup"},
                                               {LrScheduleType::kInverseSqrt, "inverse_sqrt"},
                                               {LrScheduleType::kPolynomial, "polynomial"}});
}

struct LrSchedule {
  LrScheduleType type = LrScheduleType::kConstant;
  double peak_lr = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;  // optimizer updates of the whole run, warm-up included

  /// Learning rate of update `step`, counted from 0: a linear warm-up from 0 to peak_lr over warmup_steps, then
  ///   constant, constant_with_warmup   peak_lr
  ///   linear                           straight to 0 at total_steps
  ///   cosine                           half a cosine to 0 at total_steps
  ///   inverse_sqrt                     peak_lr * sqrt(warmup / step)
  ///   polynomial                       as linear (power 1, HF's default)
  /// The same values as transformers.get_scheduler gives after `step` scheduler steps.
  double at(int64_t step) const;
};

}  // namespace roll
