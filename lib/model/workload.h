// Estimates the cost of a model's sequences from their lengths, to balance ranks and to limit the cost of
// micro-batches.
#pragma once

#include "model/spec.h"
#include "packing/partition.h"

namespace roll {

/// Returns coefficients for the FLOPs of a forward over a sequence of s tokens, linear * s + attention * s^2. They are
/// fitted to ModelSpec::forward_flops() at the lengths 1 and 2, with the lm head for all tokens, so that windows longer
/// than 1 token have no effect.
inline Workload make_workload(const ModelSpec& spec) {
  const double at_1 = spec.forward_flops(1, 1), at_2 = spec.forward_flops(2, 2);
  const double attention = (at_2 - 2 * at_1) / 2;
  return {.linear = at_1 - attention, .attention = attention};
}

}  // namespace roll
