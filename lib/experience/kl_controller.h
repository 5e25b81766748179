// The coefficient of the KL term in the token reward: constant, or pulled towards a target KL.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "experience/config.h"

namespace roll {

class KlController {
 public:
  explicit KlController(const ExperienceConfig& config);

  double coefficient() const { return coefficient_; }
  /// With a target: coefficient *= 1 + clip(kl / target - 1, -0.2, 0.2) * num_sequences / kl_horizon (Ziegler et al.
  /// 2019, section 2.2). `kl`: mean over the sequences of the global batch; `num_sequences`: how many those are.
  void update(double kl, int64_t num_sequences);

  Json state() const;
  void load_state(const Json& state);

 private:
  std::optional<double> target_;
  double horizon_;
  double coefficient_;
};

}  // namespace roll
