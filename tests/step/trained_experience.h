// Experience with all that actor and critic train on, random where they read numbers.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "experience/experience.h"
#include "experience/sample.h"

namespace roll::test {

inline Experience trained_experience(const std::vector<Sample>& samples) {
  Experience e = make_experience(samples);
  const at::Tensor& mask = e.response_mask();
  e.masks["final_response_mask"] = mask.clone();
  e.masks["positive_response_mask"] = mask * 0.0;
  e.advantages = at::randn(mask.sizes()) * mask;
  e.old_log_probs = -at::rand(mask.sizes()) * mask;
  e.ref_log_probs = e.old_log_probs.clone();
  e.values = e.returns = e.advantages;
  return e;
}

}  // namespace roll::test
