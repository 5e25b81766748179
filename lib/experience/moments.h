// Means and deviations of masked values, in float64. With `ranks`, of the values of all these ranks together:
// **Collective** over them.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "dist/communicator.h"

namespace roll {

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared distances from the mean

  double variance() const;   // over n - 1; 0 when count < 2
  double deviation() const;  // its root
};

/// Moments of `values` where `mask` is not 0 (both of one shape, any dtype).
Moments masked_moments(const at::Tensor& values, const at::Tensor& mask, Communicator* ranks = nullptr);

/// (x - mean) / sqrt(variance + 1e-8) with the n - 1 variance of the masked values; outside the mask 0.
/// Values stay as they are (but 0 outside the mask) when fewer than two are masked in. Float32 [T].
at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, Communicator& ranks);

/// Moments of every value since the run began (Chan, Golub, LeVeque 1979).
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
