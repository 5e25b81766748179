// Converts experts' adapters to PEFT's form for a base model that stacks its experts' weights in one tensor
// (transformers 5). PEFT has one pair of matrices A, B for all gates and ups of a layer, and one for all downs. Our
// model has a pair per linear layer of each expert. Transformer::write_files() and ValueModel::write_files() use it.
// Legend: E experts, r rank of the model's adapters, N outputs of a gate, H hidden size.
//   gate and up   A [E 2r, H]: row (e, i); B [2N, 2r E]: column (i, e). Of an expert's 2r rows of A, the first r are
//                 the gate's, the others the up's. B is 0 where the row is a gate's and the column an up's, or reverse.
//   down          A [E r, N]: row (e, i); B [H, r E]: column (i, e)
// The doubled rank and the alpha that keeps the scale are in adapter_config.json: peft_config() writes them.
#pragma once

#include "checkpoint/safetensors.h"
#include "model/spec.h"

namespace roll {

/// Returns `tensors` (the model's adapters, whole and under the model's names) without the experts' pairs, and at the
/// end PEFT's stacked pairs. Other tensors stay as they are.
NamedTensors stacked_adapters(const ModelSpec& spec, const NamedTensors& tensors);

}  // namespace roll
