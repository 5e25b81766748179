// Means and deviations of the whole global batch, over all data-parallel ranks, in float64: one rank or many, the
// normalised numbers agree to the last bits. Masked, so that no padding and no left-out token takes part.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "base/json.h"

namespace roll {

/// Adds a float64 tensor over the data-parallel ranks, in place. **Collective**. An empty function: one rank.
using AllReduce = std::function<void(at::Tensor&)>;

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared distances from the mean

  double variance() const;   // over n - 1; 0 when count < 2
  double deviation() const;  // its root
};

/// Moments of `values` where `mask` is not 0 (both of one shape, any dtype), over all ranks. **Collective** (twice:
/// the squares are taken around the global mean).
Moments global_moments(const at::Tensor& values, const at::Tensor& mask, const AllReduce& all_reduce);

/// (x - mean) / sqrt(variance + 1e-8) with the n - 1 variance of the masked values over all ranks; outside the mask 0.
/// Values stay as they are (but 0 outside the mask) when fewer than two are masked in. Float32 [T]. **Collective**.
at::Tensor whiten(const at::Tensor& values, const at::Tensor& mask, const AllReduce& all_reduce);

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
