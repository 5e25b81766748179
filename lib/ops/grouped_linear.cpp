#include "ops/grouped_linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "ops/accumulating_linear.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// f(g, its first row, their number) of each group that has rows.
template <class F>
void for_each_group(at::IntArrayRef counts, const F& f) {
  int64_t first = 0;
  for (int64_t g = 0; g < std::ssize(counts); first += counts[g++])
    if (counts[g] > 0) f(g, first, counts[g]);
}

class GroupedLinear : public torch::autograd::Function<GroupedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::IntArrayRef counts, at::TensorList weights) {
    variable_list saved = {x};
    saved.insert(saved.end(), weights.begin(), weights.end());
    ctx->save_for_backward(saved);
    ctx->saved_data["counts"] = counts.vec();
    const at::Tensor y = at::empty({x.size(0), weights[0].size(0)}, x.options());
    for_each_group(counts, [&](int64_t g, int64_t first, int64_t count) {
      y.narrow(0, first, count).copy_(matrix_product(x.narrow(0, first, count), weights[g].t()));
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const std::vector<int64_t> counts = ctx->saved_data["counts"].toIntVector();
    const at::Tensor &x = saved[0], d_out = grads[0].contiguous();
    variable_list found(saved.size() + 1);  // of x, the counts, the weights
    if (ctx->needs_input_grad(0)) found[0] = at::empty_like(x);
    for_each_group(counts, [&](int64_t g, int64_t first, int64_t count) {
      const at::Tensor &weight = saved[1 + g], rows = d_out.narrow(0, first, count), inputs = x.narrow(0, first, count);
      if (found[0].defined()) found[0].narrow(0, first, count).copy_(matrix_product(rows, weight));
      if (ctx->needs_input_grad(1 + g)) found[2 + g] = weight_gradient(rows, inputs, weight);
    });
    return found;
  }
};

}  // namespace

at::Tensor grouped_linear(const at::Tensor& x, const std::vector<int64_t>& counts,
                          const std::vector<at::Tensor>& weights) {
  ROLL_CHECK_EQ(counts.size(), weights.size(), "each group has a weight");
  return GroupedLinear::apply(x, at::IntArrayRef(counts), at::TensorList(weights));
}

}  // namespace roll
