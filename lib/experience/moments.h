// Means and deviations of masked values in float64, for normalising rewards and advantages. With `ranks`, over the
// values of all these ranks: **Collective** over them.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "dist/communicator.h"

namespace roll {

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared distances from the mean

  double variance() const;   // over n - 1; 0 if count < 2
  double deviation() const;  // square root of variance()
};

/// Returns the moments of `values` where `mask` is not 0 (same shape, any dtype).
Moments masked_moments(const at::Tensor& values, const at::Tensor& mask, Communicator* ranks = nullptr);

/// Returns (x - mean) / sqrt(variance + 1e-8) inside the mask, with the masked values' n - 1 variance, and 0 outside.
/// With fewer than two masked values, keeps them unchanged. [T] float32.
at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, Communicator& ranks);

/// Moments of all values since the run began (Chan, Golub, LeVeque 1979).
class RunningMoments {
 public:
  void add(const Moments& batch);
  const Moments& moments() const { return moments_; }
  Json state() const;
  void load_state(const Json& state);

 private:
  Moments moments_;
};

}  // namespace roll
