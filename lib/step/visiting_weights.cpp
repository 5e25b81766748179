#include "step/visiting_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"

namespace roll {

VisitingWeights::VisitingWeights(NamedTensors parameters)
    : parameters_(std::move(parameters)), device_(parameters_.at(0).second.device()) {
  const at::NoGradGuard no_grad;
  int64_t total = 0;
  for (const auto& [name, tensor] : parameters_) total += tensor.numel();
  const auto on_host = parameters_[0].second.options().device(at::kCPU).pinned_memory(device_.is_cuda());
  home_ = at::empty({total}, on_host.requires_grad(false));
  int64_t begin = 0;
  for (const auto& [name, tensor] : parameters_) {
    home_.narrow(0, begin, tensor.numel()).copy_(tensor.reshape({-1}));
    begin += tensor.numel();
  }
  bind(home_);
}

std::shared_ptr<void> VisitingWeights::visit() {
  bind(at::empty_like(home_, home_.options().device(device_).pinned_memory(false)).copy_(home_, /*non_blocking=*/true));
  return {nullptr, [this](void*) { bind(home_); }};
}

void VisitingWeights::bind(const at::Tensor& flat) {
  int64_t begin = 0;
  for (const auto& [name, tensor] : parameters_) {
    at::Tensor(tensor).set_data(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

}  // namespace roll
