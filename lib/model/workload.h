// FLOPs of a model's sequences, for plans that balance or budget micro-batches.
#pragma once

#include "model/spec.h"
#include "packing/partition.h"

namespace roll {

/// Returns the FLOPs of a sequence, linear * s + attention * s^2, from the model's own formula at two lengths.
inline Workload make_workload(const ModelSpec& spec) {
  const double at_1 = spec.forward_flops(1, 1), at_2 = spec.forward_flops(2, 2);
  const double attention = (at_2 - 2 * at_1) / 2;
  return {.linear = at_1 - attention, .attention = attention};
}

}  // namespace roll
