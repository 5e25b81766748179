// A draw by the keys of sampling and a number in [0, 1).
#pragma once

#include <cmath>

#include "ops/sample_row.h"
#include "rollout/row_sampling.h"

namespace roll {

inline DrawnToken draw_by_args(RowSampler& sampler, std::span<const float> logits, const SamplingSettings& args,
                               const TokenHistory& history, double uniform) {
  return sampler.draw(logits, row_sampling(args), history.touched(), static_cast<uint64_t>(std::ldexp(uniform, 53)));
}

}  // namespace roll
