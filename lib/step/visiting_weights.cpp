#include "step/visiting_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/error.h"

namespace roll {

VisitingWeights::VisitingWeights(NamedTensors parameters)
    : parameters_(std::move(parameters)),
      options_(parameters_.at(0).second.options().requires_grad(false)),
      home_(options_.device()) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters_) {
    tensors.push_back(tensor.contiguous());
    total_ += tensor.numel();
  }
  home_.save(tensors);
  leave();
}

std::shared_ptr<void> VisitingWeights::visit() {
  const at::NoGradGuard no_grad;
  const at::Tensor flat = at::empty({total_}, options_);
  home_.load({flat});
  int64_t begin = 0;
  for (const auto& [name, tensor] : parameters_) {
    at::Tensor(tensor).set_data(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return {nullptr, [this](void*) { leave(); }};
}

void VisitingWeights::leave() {
  const at::NoGradGuard no_grad;
  const at::Tensor absent = at::full({}, std::nan(""), options_);
  for (const auto& [name, tensor] : parameters_) at::Tensor(tensor).set_data(absent.expand(tensor.sizes()));
}

}  // namespace roll
