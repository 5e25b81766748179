#include "ops/sorted_rows.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/layer_ops.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns sum over k of weights[:, k] x[choice_rows[:, k]], [T, E] in float32 or wider. Undefined weights count as 1.
at::Tensor sum_choices(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& choice_rows) {
  const at::ScalarType wide = weights.defined() ? weights.scalar_type() : wide_dtype(x);
  at::Tensor sum = at::zeros({choice_rows.size(0), x.size(1)}, x.options().dtype(wide));
  for (int64_t k = 0; k < choice_rows.size(1); ++k) {
    const at::Tensor rows = select_rows(x, choice_rows.select(1, k)).to(wide);
    weights.defined() ? sum.addcmul_(rows, weights.narrow(1, k, 1)) : sum.add_(rows);
  }
  return sum;
}

/// Returns the token of each sorted row.
at::Tensor row_tokens(const at::Tensor& order, int64_t choices) {
  return order.div(choices, "floor");
}

class SpreadRows : public torch::autograd::Function<SpreadRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& order,
                            const at::Tensor& choice_rows) {
    ctx->save_for_backward({choice_rows});
    return select_rows(x, row_tokens(order, choice_rows.size(1)));
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const at::Tensor choice_rows = ctx->get_saved_variables()[0];
    return {sum_choices(grads[0], {}, choice_rows).to(grads[0].scalar_type()), at::Tensor(), at::Tensor()};
  }
};

class CombineRows : public torch::autograd::Function<CombineRows> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weights,
                            const at::Tensor& order, const at::Tensor& choice_rows) {
    ctx->save_for_backward({x, weights, order, choice_rows});
    return sum_choices(x, weights, choice_rows).to(x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weights = saved[1], &order = saved[2], &choice_rows = saved[3];
    const at::Tensor wide = grads[0].to(weights.scalar_type());
    const at::Tensor row_gradients = select_rows(wide, row_tokens(order, choice_rows.size(1)));
    std::vector<at::Tensor> by_weights;
    for (int64_t k = 0; k < choice_rows.size(1); ++k)
      by_weights.push_back((select_rows(x, choice_rows.select(1, k)).to(wide.scalar_type()) * wide).sum(1));
    const at::Tensor row_weights = select_rows(weights.reshape({-1, 1}), order);
    return {(row_gradients * row_weights).to(x.scalar_type()), at::stack(by_weights, 1), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

SortedRows sort_rows(const at::Tensor& groups, int64_t num_groups) {
  const int64_t rows = groups.numel();
  if (groups.is_meta()) {
    std::vector<int64_t> counts;
    for (int64_t g = 0; g < num_groups; ++g) counts.push_back(rows * (g + 1) / num_groups - rows * g / num_groups);
    return {at::empty({rows}, groups.options()), at::empty(groups.sizes(), groups.options()),
            RowGroups(std::move(counts))};
  }
  const auto [sorted, order] = at::sort(groups.reshape({-1}), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  at::Tensor choice_rows = at::empty_like(order);
  choice_rows.index_copy_(0, order, at::arange(rows, order.options()));
  at::Tensor ends = at::searchsorted(sorted, at::arange(num_groups, sorted.options()), /*out_int32=*/true, true);
  return {order, choice_rows.view(groups.sizes()), RowGroups(std::move(ends))};
}

at::Tensor spread_rows(const at::Tensor& x, const SortedRows& rows) {
  return SpreadRows::apply(x, rows.order, rows.choice_rows);
}

at::Tensor combine_rows(const at::Tensor& x, const at::Tensor& weights, const SortedRows& rows) {
  return CombineRows::apply(x, weights, rows.order, rows.choice_rows);
}

}  // namespace roll
