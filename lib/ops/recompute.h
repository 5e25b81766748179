// Activation recomputation (gradient checkpointing): a block of the graph keeps only its inputs and runs again in
// backward. The models use it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace roll {

using RecomputedBlock = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

/// Returns block(inputs) and stores only `inputs` for backward, tensors of any shape. The block always runs with a
/// gradient for the first input. `weights` are the leaf tensors that `block` reads: their gradients have the same bits
/// as without recomputation. The block must be deterministic; it is copied, so its references must outlive
/// the backward pass.
std::vector<at::Tensor> recomputed(const RecomputedBlock& block, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& weights);

/// Like recomputed() above, for one input and one result.
at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& weights);

}  // namespace roll
