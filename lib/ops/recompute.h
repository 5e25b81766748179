// Activation recomputation: a block of the graph that keeps only its input and runs again in backward.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace roll {

/// block(x), storing nothing but x; tensors of any shape. `weights` are the leaf tensors that `block` reads: their
/// gradients are accumulated as without recomputation, to the bit. The block must be deterministic and must outlive
/// backward (it is copied).
at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& weights);

}  // namespace roll
