// Converts experts' adapters for a PEFT folder whose base stacks experts' weights (transformers 5): one pair of
// matrices for all gates and ups of a layer and one for all downs, instead of one per product of each expert.
//   legend: E experts, r the adapters' rank, N rows of a gate
//   gate and up   A [E 2r, in], B [2N, 2r E]; each expert's two off-diagonal blocks in B are 0
//   down          A [E r, N],   B [out, r E]
#pragma once

#include "checkpoint/safetensors.h"
#include "model/spec.h"

namespace roll {

/// Returns `tensors`, named as in the model, with PEFT's stacked adapters in place of experts'.
NamedTensors stacked_adapters(const ModelSpec& spec, const NamedTensors& tensors);

}  // namespace roll
