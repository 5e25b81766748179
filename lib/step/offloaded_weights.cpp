#include "step/offloaded_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/error.h"

namespace roll {

OffloadedWeights::OffloadedWeights(NamedTensors parameters)
    : parameters_(std::move(parameters)),
      options_(parameters_.at(0).second.options().requires_grad(false)),
      host_copy_(options_.device()) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters_) {
    tensors.push_back(tensor.contiguous());
    total_ += tensor.numel();
  }
  host_copy_.save(tensors);
  free_device_copy();
}

std::shared_ptr<void> OffloadedWeights::bring_to_device() {
  const at::NoGradGuard no_grad;
  const at::Tensor flat = at::empty({total_}, options_);
  host_copy_.load({flat});
  int64_t begin = 0;
  for (const auto& [name, tensor] : parameters_) {
    at::Tensor(tensor).set_data(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return {nullptr, [this](void*) { free_device_copy(); }};
}

void OffloadedWeights::free_device_copy() {
  const at::NoGradGuard no_grad;
  const at::Tensor absent = at::full({}, std::nan(""), options_);
  for (const auto& [name, tensor] : parameters_) at::Tensor(tensor).set_data(absent.expand(tensor.sizes()));
}

}  // namespace roll
