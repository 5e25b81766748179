#include "ops/accumulating_linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class AccumulatingLinear : public torch::autograd::Function<AccumulatingLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["has_bias"] = bias.has_value();
    const at::Tensor added = bias ? multipliable(*bias) : at::Tensor();
    return linear_product(multipliable(x), multipliable(weight), added).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &d_out = grads[0], &x = saved[0], &weight = saved[1];
    variable_list found(3);
    if (ctx->needs_input_grad(0)) found[0] = matrix_product(d_out, weight);
    if (ctx->needs_input_grad(1)) found[1] = weight_gradient(d_out, x, weight);
    if (ctx->saved_data["has_bias"].toBool() && ctx->needs_input_grad(2)) found[2] = d_out.sum(0);
    return found;
  }
};

/// Returns the tensors as one view along their first dimension if they are adjacent in memory, else undefined.
at::Tensor joined(const std::vector<at::Tensor>& parts) {
  const at::Tensor& first = parts.front();
  if (!first.defined()) return {};
  std::vector<int64_t> sizes = first.sizes().vec();
  sizes[0] = 0;
  for (const at::Tensor& part : parts) {
    const bool follows = part.defined() && part.is_contiguous() && part.is_alias_of(first) &&
                         part.storage_offset() == first.storage_offset() + sizes[0] * first.stride(0);
    if (!follows) return {};
    sizes[0] += part.size(0);
  }
  return first.detach().as_strided(sizes, first.strides());
}

/// Calls f(i, first, count) for each weight i, with its columns of the packed result.
template <class F>
void for_each_packed(const std::vector<at::Tensor>& weights, const F& f) {
  int64_t first = 0;
  for (size_t i = 0; i < weights.size(); first += weights[i++].size(0)) f(i, first, weights[i].size(0));
}

class PackedLinear : public torch::autograd::Function<PackedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weight_list,
                            at::TensorList bias_list) {
    const std::vector<at::Tensor> weights = weight_list.vec(), biases = bias_list.vec();
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    saved.insert(saved.end(), biases.begin(), biases.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["num_weights"] = std::ssize(weights);
    int64_t outputs = 0;
    for (const at::Tensor& weight : weights) outputs += weight.size(0);
    const at::Tensor y = at::empty({x.size(0), outputs}, x.options());
    const at::Tensor whole = joined(weights), bias = biases.empty() ? at::Tensor() : joined(biases);
    if (whole.defined() && bias.defined() == !biases.empty()) {
      linear_product_out(y, x, whole, bias);
    } else {
      for_each_packed(weights, [&](size_t i, int64_t first, int64_t count) {
        linear_product_out(y.narrow(1, first, count), x, weights[i], biases.empty() ? at::Tensor() : biases[i]);
      });
    }
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto num = ctx->saved_data["num_weights"].toInt();
    const at::Tensor &x = saved[0], d_out = grads[0].contiguous();
    const variable_list weights(saved.begin() + 1, saved.begin() + 1 + num),
        biases(saved.begin() + 1 + num, saved.end());
    variable_list found(saved.size());
    if (ctx->needs_input_grad(0)) found[0] = input_gradient(d_out, weights);
    if (!adds_all(ctx, weights, 1, [&](const at::Tensor& kept) { return try_add_product(kept, d_out, x); }))
      for_each_packed(weights, [&](size_t i, int64_t first, int64_t count) {
        if (ctx->needs_input_grad(1 + i)) found[1 + i] = weight_gradient(d_out.narrow(1, first, count), x, weights[i]);
      });
    if (biases.empty()) return found;
    const at::Tensor d_bias = d_out.sum(0, false, at::kFloat);
    const auto adds = [&](const at::Tensor& kept) { return kept.add_(d_bias), true; };
    if (!adds_all(ctx, biases, 1 + weights.size(), adds))
      for_each_packed(biases, [&](size_t i, int64_t first, int64_t count) {
        found[1 + weights.size() + i] = d_bias.narrow(0, first, count).to(x.scalar_type());
      });
    return found;
  }

 private:
  static at::Tensor input_gradient(const at::Tensor& d_out, const variable_list& weights) {
    if (const at::Tensor whole = joined(weights); whole.defined()) return linear_product(d_out, whole.t());
    at::Tensor sum;
    for_each_packed(weights, [&](size_t i, int64_t first, int64_t count) {
      const at::Tensor part = d_out.narrow(1, first, count);
      sum = sum.defined() ? sum.addmm_(part, weights[i]) : at::mm(part, weights[i]);
    });
    return sum;
  }

  /// Calls adds(joined gradients). Returns false if one is not needed, they cannot be joined, or `adds` returns false.
  template <class F>
  static bool adds_all(AutogradContext* ctx, const variable_list& parameters, size_t first_input, const F& adds) {
    variable_list kept;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!ctx->needs_input_grad(first_input + i)) return false;
      kept.push_back(parameters[i].grad());
    }
    const at::Tensor whole = joined(kept);
    return whole.defined() && adds(whole);
  }
};

}  // namespace

at::Tensor weight_gradient(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& weight) {
  return try_add_product(weight.grad(), d_out, x) ? at::Tensor() : matrix_product(d_out.t(), x);
}

bool try_add_product(at::Tensor kept, const at::Tensor& d_out, const at::Tensor& x) {
  if (!kept.defined()) return false;
  if (kept.scalar_type() == x.scalar_type())
    add_product(kept, d_out, x);
  else if (!x.is_cpu() && !x.is_meta() && kept.scalar_type() == at::kFloat)
    at::addmm_out(kept, kept, d_out.t(), x, at::kFloat);
  else
    return false;
  return true;
}

at::Tensor packed_linear(const at::Tensor& x, const std::vector<at::Tensor>& weights,
                         const std::vector<at::Tensor>& biases) {
  return PackedLinear::apply(x, at::TensorList(weights), at::TensorList(biases));
}

at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return AccumulatingLinear::apply(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

}  // namespace roll
