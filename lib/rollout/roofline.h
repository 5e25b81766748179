// Lower bounds of a sampler step's cost: bytes read, FLOPs, and the time on a machine of measured speed (roofline
// model, Williams et al. 2009). Used by benchmarks and lib/forecast.
#pragma once

#include <cstdint>

#include "model/spec.h"

namespace roll {

struct DecodingCost {
  double bytes = 0;  // read from memory
  double flops = 0;
};

/// Bytes per element.
struct NumberBytes {
  int64_t weights = 4, cached = 4;  // cached: keys and values
};

/// Returns the cost of a step in which `count` sequences grow from `begin` to `end` tokens and draw one token each:
/// prefill (begin = 0) or decoding (end = begin + 1). Weights are read once; an untied embedding counts only the
/// tokens' rows, an MoE layer only the experts that the tokens are expected to use. Keys and values are read once.
DecodingCost step_cost(const ModelSpec& spec, NumberBytes bytes, int64_t count, int64_t begin, int64_t end);

struct MachineSpeed {
  double bytes_per_s = 0, flops_per_s = 0;
};

/// Returns the larger of the memory time and the compute time, as both overlap.
double least_seconds(const DecodingCost& cost, const MachineSpeed& machine);
/// Returns true if the memory time exceeds the compute time.
bool is_bound_by_memory(const DecodingCost& cost, const MachineSpeed& machine);

}  // namespace roll
