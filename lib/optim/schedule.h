// Learning-rate schedules, by the names of HF's lr_scheduler_type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roll {

struct LrSchedule {
  std::string type = "constant";
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

  /// The types that at() knows.
  static const std::vector<std::string>& types();
};

}  // namespace roll
