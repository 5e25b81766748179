#include "rollout/step_times.h"

#include <algorithm>

namespace roll {

namespace {

constexpr double kDecay = 0.98;        // weight of the past at each new step
constexpr double kAssumedRows = 16;    // fixed rows before measurements
constexpr double kAssumedWeight = 20;  // weight of the assumption, in steps x rows^2

}  // namespace

void StepTimes::add(int64_t rows, double seconds) {
  const auto x = static_cast<double>(rows);
  for (double* const sum : {&weight_, &rows_, &seconds_, &rows_squared_, &rows_seconds_}) *sum *= kDecay;
  weight_ += 1;
  rows_ += x;
  seconds_ += seconds;
  rows_squared_ += x * x;
  rows_seconds_ += x * seconds;
}

double StepTimes::fixed_rows() const {
  if (weight_ == 0 || seconds_ <= 0) return kAssumedRows;
  const double mean_rows = rows_ / weight_, mean_seconds = seconds_ / weight_;
  const double assumed_slope = mean_seconds / (kAssumedRows + mean_rows);
  const double spread = rows_squared_ - rows_ * mean_rows, common = rows_seconds_ - rows_ * mean_seconds;
  const double slope = (common + kAssumedWeight * assumed_slope) / (spread + kAssumedWeight);
  if (slope <= 0) return 64;
  return std::clamp(mean_seconds / slope - mean_rows, 0.0, 64.0);
}

}  // namespace roll
