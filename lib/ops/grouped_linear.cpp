#include "ops/grouped_linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "ops/accumulating_linear.h"
#include "ops/grouped_products.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

variable_list saved_tensors(const at::Tensor& x, at::TensorList weights) {
  variable_list saved = {x};
  saved.insert(saved.end(), weights.begin(), weights.end());
  return saved;
}

/// One GEMM per group and part.
class LoopedLinear : public torch::autograd::Function<LoopedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::IntArrayRef counts, int64_t parts,
                            at::TensorList weights) {
    ctx->save_for_backward(saved_tensors(x, weights));
    ctx->saved_data["counts"] = counts.vec();
    ctx->saved_data["parts"] = parts;
    const int64_t outputs = weights[0].size(0);
    const at::Tensor y = at::empty({x.size(0), parts * outputs}, x.options());
    if (x.is_meta()) return y;
    for_each_product(counts, parts, outputs, [&](int64_t i, const ProductRange& at) {
      at.block_in(y).copy_(matrix_product(at.rows_in(x), weights[i].t()));
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const std::vector<int64_t> counts = ctx->saved_data["counts"].toIntVector();
    const int64_t parts = ctx->saved_data["parts"].toInt(), outputs = saved[1].size(0);
    const at::Tensor &x = saved[0], d_out = grads[0].contiguous();
    variable_list found(saved.size() + 2);  // gradients of x, counts, parts, weights
    if (ctx->needs_input_grad(0)) found[0] = at::empty_like(x);
    if (x.is_meta()) {  // planned run: only shapes matter
      for (size_t i = 1; i < saved.size(); ++i)
        if (ctx->needs_input_grad(i) && !saved[i].grad().defined()) found[2 + i] = at::empty_like(saved[i]);
      return found;
    }
    for_each_product(counts, parts, outputs, [&](int64_t i, const ProductRange& at) {
      const at::Tensor &weight = saved[1 + i], d = at.block_in(d_out);
      if (found[0].defined()) {
        const at::Tensor rows = at.rows_in(found[0]), product = matrix_product(d, weight);
        i % parts == 0 ? rows.copy_(product) : rows.add_(product);
      }
      if (ctx->needs_input_grad(1 + i)) found[3 + i] = weight_gradient(d, at.rows_in(x), weight);
    });
    return found;
  }

 private:
  /// A group's rows of x and a part's columns of y.
  struct ProductRange {
    int64_t first, count, column, width;
    at::Tensor rows_in(const at::Tensor& x) const { return x.narrow(0, first, count); }
    at::Tensor block_in(const at::Tensor& x) const { return rows_in(x).narrow(1, column, width); }
  };

  /// Calls f(weight index, range) for each part of each group that has rows.
  template <class F>
  static void for_each_product(at::IntArrayRef counts, int64_t parts, int64_t outputs, const F& f) {
    int64_t first = 0;
    for (int64_t g = 0; g < std::ssize(counts); first += counts[g++])
      for (int64_t part = 0; counts[g] > 0 && part < parts; ++part)
        f(g * parts + part, ProductRange{first, counts[g], part * outputs, outputs});
  }
};

/// One kernel for all GEMMs.
class GroupedLinear : public torch::autograd::Function<GroupedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const RowGroups& groups, int64_t parts,
                            at::TensorList weights) {
    variable_list saved = saved_tensors(x, weights);
    const at::Tensor ends = groups.ends(x.device());
    saved.push_back(ends);
    ctx->save_for_backward(saved);
    ctx->saved_data["parts"] = parts;
    return grouped_product(x, stacked(weights.vec(), parts), ends);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables(), weights(saved.begin() + 1, saved.end() - 1);
    const int64_t parts = ctx->saved_data["parts"].toInt();
    const at::Tensor &x = saved.front(), &ends = saved.back(), &d_out = grads[0];
    variable_list found(weights.size() + 3);  // gradients of x, groups, parts, weights
    if (ctx->needs_input_grad(0)) found[0] = grouped_input_gradient(d_out, stacked(weights, parts), ends);
    std::vector<size_t> trained;
    for (size_t i = 0; i < weights.size(); ++i)
      if (ctx->needs_input_grad(1 + i)) trained.push_back(i);
    if (trained.empty() || x.size(0) == 0) return found;
    const at::Tensor gradient = grouped_weight_gradient(d_out, x, ends);
    if (trained.size() == weights.size() && adds(weights, parts, gradient)) return found;
    const variable_list weight_gradients = gradient.view({std::ssize(weights), -1, x.size(1)}).unbind();
    for (const size_t i : trained) {
      const at::Tensor kept = weights[i].grad();
      kept.defined() ? kept.add_(weight_gradients[i]) : found[3 + i] = weight_gradients[i];
    }
    return found;
  }

 private:
  /// Adds `gradient` to the weights' gradients if these are evenly spaced in memory; returns whether they are.
  static bool adds(const variable_list& weights, int64_t parts, const at::Tensor& gradient) {
    std::vector<at::Tensor> kept;
    for (const at::Tensor& weight : weights) kept.push_back(weight.grad());
    const at::Tensor whole = stacked_in_place(kept, parts);
    if (whole.defined()) whole.add_(gradient);
    return whole.defined();
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& x, const RowGroups& groups, const std::vector<at::Tensor>& weights,
                          int64_t parts) {
  ROLL_CHECK_EQ(groups.size() * parts, std::ssize(weights), "each group has its weights");
  if (has_grouped_products(x, groups.size(), weights.front().size(0)))
    return GroupedLinear::apply(x, groups, parts, at::TensorList(weights));
  return LoopedLinear::apply(x, at::IntArrayRef(groups.counts()), parts, at::TensorList(weights));
}

}  // namespace roll
