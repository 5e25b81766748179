// Adapters of experts whose weights a folder stacks (transformers 5): PEFT has one pair of matrices for all gates and
// ups of a layer and one for all downs, in place of one for each product of each expert.
//   legend: E experts, r the adapters' rank, N rows of a gate
//   gate and up   A [E 2r, in], B [2N, 2r E]; of an expert, B's two blocks off the diagonal are 0
//   down          A [E r, N],   B [out, r E]
#pragma once

#include "checkpoint/safetensors.h"
#include "model/spec.h"

namespace roll {

/// The adapters in `tensors`, named as the model names them, with PEFT's stacked ones in place of experts'.
NamedTensors stacked_adapters(const ModelSpec& spec, const NamedTensors& tensors);

}  // namespace roll
