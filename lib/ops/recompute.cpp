// Backward runs the block again under its own small graph, whose gradients autograd::grad hands over.
#include "ops/recompute.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Block = std::function<at::Tensor(const at::Tensor&)>;

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const std::shared_ptr<const Block>& block, const at::Tensor& x,
                            at::TensorList weights) {
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    ctx->save_for_backward(saved);
    // A function has no IValue; the capsule keeps it as long as the graph lives.
    ctx->saved_data["block"] = at::IValue::make_capsule(c10::make_intrusive<Holder>(block));
    return (*block)(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grad_outputs) {
    variable_list inputs = ctx->get_saved_variables();
    const bool needs_x = ctx->needs_input_grad(0);
    inputs[0] = inputs[0].detach().requires_grad_(true);
    const auto holder = ctx->saved_data["block"].toCapsule();
    const Block& block = *static_cast<Holder*>(holder.get())->block;
    at::Tensor output;
    {
      at::AutoGradMode enable(true);
      output = block(inputs[0]);
    }
    variable_list wanted;
    for (const auto& input : inputs)
      if (input.requires_grad()) wanted.push_back(input);
    variable_list found = torch::autograd::grad({output}, wanted, {grad_outputs[0]}, std::nullopt, false, true);
    variable_list grads = {at::Tensor()};  // of `block`
    size_t next = 0;
    for (const auto& input : inputs) grads.push_back(input.requires_grad() ? found[next++] : at::Tensor());
    if (!needs_x) grads[1] = at::Tensor();
    return grads;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<const Block> b) : block(std::move(b)) {}
    std::shared_ptr<const Block> block;
  };
};

}  // namespace

at::Tensor recomputed(const Block& block, const at::Tensor& x, const std::vector<at::Tensor>& weights) {
  return Recomputed::apply(std::make_shared<const Block>(block), x, at::TensorList(weights));
}

}  // namespace roll
