// Lower bounds of the cost of one sampler step: bytes read, FLOPs, and the time on a machine of known speed (roofline
// model, Williams et al. 2009). Used by `roll generate --bench` and lib/forecast.
#pragma once

#include <cstdint>

#include "model/spec.h"

namespace roll {

/// Cost of one step, prefill or decoding, on one device.
struct DecodingCost {
  double bytes = 0;  // memory traffic
  double flops = 0;
};

/// Bytes per element.
struct NumberBytes {
  double weights = 4;
  int64_t cached = 4;  // keys, values and recurrent states
};

/// Returns the cost of a step in which `count` sequences grow from `begin` to `end` tokens each, and each draws one
/// token from its last position. Prefill has begin = 0, decoding has end = begin + 1. The step reads all weights once;
/// of an untied embedding only the rows of the tokens, and of an MoE layer only the experts that the tokens are
/// expected to use. For each sequence, it reads the keys and values of `end` tokens, and reads and writes the recurrent
/// states.
DecodingCost step_cost(const ModelSpec& spec, NumberBytes bytes, int64_t count, int64_t begin, int64_t end);

/// Speed of a device.
struct MachineSpeed {
  double bytes_per_s = 0;  // memory bandwidth
  double flops_per_s = 0;
};

/// Returns the larger of bytes / bytes_per_s and flops / flops_per_s, in seconds, because memory traffic and arithmetic
/// overlap.
double least_seconds(const DecodingCost& cost, const MachineSpeed& machine);
/// Returns true if the memory traffic takes longer than the arithmetic.
bool is_bound_by_memory(const DecodingCost& cost, const MachineSpeed& machine);

}  // namespace roll
