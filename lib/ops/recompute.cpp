// Backward runs the block again in a small graph and gets its gradients from autograd::grad.
#include "ops/recompute.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Holds the block as an IValue capsule, which lives as long as the graph.
struct KeptBlock : torch::CustomClassHolder {
  KeptBlock(RecomputedBlock block_, size_t num_inputs_) : block(std::move(block_)), num_inputs(num_inputs_) {}
  RecomputedBlock block;
  size_t num_inputs;
};

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  /// `read`: the block's inputs, then the weights that it reads.
  static variable_list forward(AutogradContext* ctx, const c10::intrusive_ptr<KeptBlock>& kept, at::TensorList read) {
    ctx->save_for_backward(read.vec());
    ctx->saved_data["block"] = at::IValue::make_capsule(kept);
    return kept->block({read.begin(), read.begin() + static_cast<std::ptrdiff_t>(kept->num_inputs)});
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    variable_list read = ctx->get_saved_variables();
    const auto capsule = ctx->saved_data["block"].toCapsule();
    const auto& kept = *static_cast<const KeptBlock*>(capsule.get());
    const bool needs_first = ctx->needs_input_grad(0);
    for (size_t i = 0; i < kept.num_inputs; ++i)  // cut off from the outer graph
      read[i] = read[i].detach().requires_grad_(i == 0 || ctx->needs_input_grad(i));
    variable_list outputs;
    {
      at::AutoGradMode enable(true);
      outputs = kept.block({read.begin(), read.begin() + static_cast<std::ptrdiff_t>(kept.num_inputs)});
    }
    variable_list wanted;
    for (const auto& tensor : read)
      if (tensor.requires_grad()) wanted.push_back(tensor);
    variable_list found = torch::autograd::grad(outputs, wanted, grad_outputs, std::nullopt, false, true);
    variable_list grads = {at::Tensor()};  // gradient of `kept`
    size_t next = 0;
    for (const auto& tensor : read) grads.push_back(tensor.requires_grad() ? found[next++] : at::Tensor());
    if (!needs_first) grads[1] = at::Tensor();
    return grads;
  }
};

}  // namespace

std::vector<at::Tensor> recomputed(const RecomputedBlock& block, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& weights) {
  std::vector<at::Tensor> read = inputs;
  read.insert(read.end(), weights.begin(), weights.end());
  return Recomputed::apply(c10::make_intrusive<KeptBlock>(block, inputs.size()), at::TensorList(read));
}

at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& x,
                      const std::vector<at::Tensor>& weights) {
  const RecomputedBlock list_block = [block](const std::vector<at::Tensor>& inputs) {
    return std::vector<at::Tensor>{block(inputs.front())};
  };
  return recomputed(list_block, std::vector<at::Tensor>{x}, weights).front();
}

}  // namespace roll
