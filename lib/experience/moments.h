// Computes means and deviations of masked values in float64, for normalising rewards and advantages (rewards.h,
// build.h).
#pragma once

#include <ATen/core/Tensor.h>

#include "base/json.h"
#include "dist/communicator.h"

namespace roll {

/// Statistics of some values.
struct Moments {
  double count = 0;    // number of values
  double mean = 0;     // 0 if count is 0
  double squares = 0;  // sum of squared distances from the mean

  double variance() const;   // over n - 1; 0 if count < 2
  double deviation() const;  // square root of variance()
};

/// Returns the moments of `values` where `mask` is not 0 (same shape, any dtype). If `ranks` is not null, covers the
/// values of all these ranks, gives all the same result, and is **Collective** over them. Null: covers this rank's
/// values.
Moments masked_moments(const at::Tensor& values, const at::Tensor& mask, Communicator* ranks = nullptr);

/// Returns (x - mean) / sqrt(variance + 1e-8) of the values x inside the mask, and 0 outside, as float32. Mean and
/// variance (over n - 1) are those of the masked values of all ranks; if there are fewer than two, the values stay
/// unchanged. **Collective** over `ranks`.
at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, Communicator& ranks);

/// Moments of all values added since the run began (Chan, Golub, LeVeque 1979).
class RunningMoments {
 public:
  /// Adds values, given their moments.
  void add(const Moments& batch);
  const Moments& moments() const { return moments_; }
  /// Return and restore the moments, for checkpoints.
  Json state() const;
  void load_state(const Json& state);

 private:
  Moments moments_;
};

}  // namespace roll
