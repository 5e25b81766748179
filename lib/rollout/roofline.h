// What a step of the sampler costs at least, as numbers to read and to multiply, and the time in which a machine of
// measured speed can do no better (the roofline of Williams et al. 2009).
#pragma once

#include <cstdint>

#include "model/spec.h"

namespace roll {

struct DecodingCost {
  double bytes = 0;  // read from memory
  double flops = 0;
};

/// Bytes of a number.
struct NumberBytes {
  int64_t weights = 4, cached = 4;  // cached: of keys and values
};

/// `count` sequences grow from `begin` to `end` tokens and draw one: a prompt (from 0), or a step of decoding (by one).
/// Weights are read once, of an embedding that is not the lm head too only the tokens' rows, of a mixture only the
/// experts that the tokens are expected to go through; keys and values of all tokens once.
DecodingCost step_cost(const ModelSpec& spec, NumberBytes bytes, int64_t count, int64_t begin, int64_t end);

struct MachineSpeed {
  double bytes_per_s = 0, flops_per_s = 0;
};

/// Reading and multiplying go on side by side: the longer of the two.
double least_seconds(const DecodingCost& cost, const MachineSpeed& machine);
/// Whether reading takes longer than multiplying.
bool is_bound_by_memory(const DecodingCost& cost, const MachineSpeed& machine);

}  // namespace roll
