// Activation recomputation (gradient checkpointing): a block of computation keeps only its inputs, and runs again in
// backward. model/run_units.cpp uses it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace roll {

/// Returns outputs computed from `inputs`, and from weights that the function captures.
using RecomputedBlock = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

/// Returns block(inputs), and keeps only `inputs` for backward, which calls the block again with gradients enabled (the
/// first call has them disabled). `weights`: all leaf tensors that the block reads apart from its inputs. They get the
/// same gradients, to the bit, as without recomputation. The block must be deterministic. It is copied, so all objects
/// to which it refers must outlive the backward pass. In backward, its first input always requires a gradient.
std::vector<at::Tensor> recomputed(const RecomputedBlock& block, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& weights);

/// Does the same as recomputed() above for a block with one input and one output.
at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& weights);

}  // namespace roll
