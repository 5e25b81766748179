// On the CPU, LibTorch sums a row's gradients in the row's own dtype. A bfloat16 sum of thousands stops growing after
// the first few, so this file sums in float32.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/layer_ops.h"
#include "ops/products.h"

namespace roll {

namespace {

class NarrowRows : public torch::autograd::Function<NarrowRows> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& weight, const at::Tensor& ids) {
    ctx->save_for_backward({ids});
    ctx->saved_data["rows"] = weight.size(0);
    return weight.index_select(0, ids);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const at::Tensor wide =
        at::embedding_dense_backward(grads[0].to(wide_dtype(grads[0])), ctx->get_saved_variables()[0],
                                     ctx->saved_data["rows"].toInt(), /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
    return {wide.to(grads[0].scalar_type()), at::Tensor()};
  }
};

}  // namespace

// LibTorch's index_select does not support tensors without data.
at::Tensor select_rows(const at::Tensor& x, const at::Tensor& rows) {
  return x.is_meta() ? x.index({rows}) : x.index_select(0, rows);
}

at::Tensor embed_rows(const at::Tensor& weight, const at::Tensor& ids) {
  if (weight.is_meta()) return select_rows(weight, ids);
  const bool is_narrow = weight.is_cpu() && weight.scalar_type() != wide_dtype(weight);
  return is_narrow ? NarrowRows::apply(weight, ids) : at::embedding(weight, ids);
}

}  // namespace roll
