#include "ops/planned_tensors.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Zeros : public torch::autograd::Function<Zeros> {
 public:
  static at::Tensor forward(AutogradContext*, const at::Tensor& x) {
    return at::zeros(x.sizes(), x.options().device(at::kCPU));
  }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    return {at::empty_like(grads[0], at::kMeta)};
  }
};

}  // namespace

at::Tensor numbers_or_zeros(const at::Tensor& x) {
  return x.is_meta() ? Zeros::apply(x) : x;
}

}  // namespace roll
