#include "ops/accumulating_linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  return at::mm(multipliable(a), multipliable(b)).to(a.scalar_type());
}

/// dY^T X into the gradient that is there; else as a tensor of its own.
at::Tensor weight_gradient(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& weight) {
  at::Tensor kept = weight.grad();
  if (!kept.defined()) return product(d_out.t(), x);
  kept.addmm_(d_out.t(), x);
  return {};
}

class AccumulatingLinear : public torch::autograd::Function<AccumulatingLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["has_bias"] = bias.has_value();
    const std::optional<at::Tensor> added = bias ? std::optional(multipliable(*bias)) : bias;
    return at::linear(multipliable(x), multipliable(weight), added).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &d_out = grads[0], &x = saved[0], &weight = saved[1];
    variable_list found(3);
    if (ctx->needs_input_grad(0)) found[0] = product(d_out, weight);
    if (ctx->needs_input_grad(1)) found[1] = weight_gradient(d_out, x, weight);
    if (ctx->saved_data["has_bias"].toBool() && ctx->needs_input_grad(2)) found[2] = d_out.sum(0);
    return found;
  }
};

}  // namespace

at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return AccumulatingLinear::apply(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

}  // namespace roll
