// Activation recomputation: a block of the graph that keeps only its inputs and runs again in backward.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace roll {

using RecomputedBlock = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

/// block(inputs), storing nothing but `inputs`, of which the first is trained through whatever it is; tensors of any
/// shape. `weights` are the leaf tensors that `block` reads: their gradients are accumulated as without recomputation,
/// to the bit. The block must be deterministic and must outlive backward (it is copied).
std::vector<at::Tensor> recomputed(const RecomputedBlock& block, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& weights);

/// The same of one input and one result.
at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& weights);

}  // namespace roll
