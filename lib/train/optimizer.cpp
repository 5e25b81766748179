#include "train/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace roll {

FlatAdamW::FlatAdamW(const NamedTensors& parameters, AdamWConfig config) : config_(config) {
  ROLL_CHECK(!parameters.empty(), "an optimizer needs parameters");
  for (const auto& [name, tensor] : parameters) slices_.push_back({name, tensor, 0});
  std::stable_partition(slices_.begin(), slices_.end(), [](const Slice& s) { return s.parameter.dim() >= 2; });
  int64_t total = 0;
  for (auto& slice : slices_) {
    slice.offset = total;
    total += slice.parameter.numel();
    if (slice.parameter.dim() >= 2) num_decayed_ = total;
  }
  const at::NoGradGuard no_grad;
  parameters_ = at::empty({total}, slices_.front().parameter.options().requires_grad(false));
  for (auto& slice : slices_) view_in(parameters_, slice).copy_(slice.parameter);
  bind_parameters();
  master_ = parameters_.to(at::kFloat);  // no copy where they are float32
  first_moment_ = at::zeros_like(master_);
  second_moment_ = at::zeros_like(master_);
  bind_gradients();
}

at::Tensor FlatAdamW::view_in(const at::Tensor& flat, const Slice& slice) const {
  return flat.narrow(0, slice.offset, slice.parameter.numel()).view(slice.parameter.sizes());
}

void FlatAdamW::bind_parameters() {
  for (auto& slice : slices_) slice.parameter.set_data(view_in(parameters_, slice));
}

// Autograd adds in place into a gradient that is already there, so it writes straight into the flat buffer.
void FlatAdamW::bind_gradients() {
  model_gradient_ = at::zeros_like(parameters_);
  gradient_ = master_.is_same(parameters_) ? model_gradient_ : at::zeros_like(master_);
  for (auto& slice : slices_) slice.parameter.mutable_grad() = view_in(model_gradient_, slice);
}

void FlatAdamW::zero_grad() {
  model_gradient_.zero_();
  if (!gradient_.is_same(model_gradient_)) gradient_.zero_();
}

void FlatAdamW::accumulate() {
  const Slice& first = slices_.front();
  ROLL_CHECK(first.parameter.grad().data_ptr() == view_in(model_gradient_, first).data_ptr(),
             "autograd accumulates into the flat buffer");
  if (gradient_.is_same(model_gradient_)) return;
  gradient_.add_(model_gradient_);
  model_gradient_.zero_();
}

double FlatAdamW::gradient_norm() const {
  // A float32 sum of squares over 1e9 elements loses digits; the sum over blocks in double doesn't.
  double squares = 0;
  constexpr int64_t kBlock = int64_t{1} << 22;
  for (int64_t begin = 0; begin < gradient_.numel(); begin += kBlock) {
    const at::Tensor block = gradient_.narrow(0, begin, std::min(kBlock, gradient_.numel() - begin)).to(at::kDouble);
    squares += block.dot(block).item<double>();
  }
  return std::sqrt(squares);
}

void FlatAdamW::step(double lr, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const double scale = max_norm / (norm + 1e-6);
  if (max_norm > 0 && scale < 1) gradient_.mul_(scale);
  ++num_steps_;
  const auto update = [&](int64_t begin, int64_t length, double weight_decay) {
    if (length == 0) return;
    const auto part = [&](const at::Tensor& flat) { return std::vector<at::Tensor>{flat.narrow(0, begin, length)}; };
    at::Tensor steps = at::full({}, static_cast<double>(num_steps_), master_.options());
    at::_fused_adamw_(part(master_), part(gradient_), part(first_moment_), part(second_moment_), {}, {steps}, lr,
                      config_.beta1, config_.beta2, weight_decay, config_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  };
  update(0, num_decayed_, config_.weight_decay);
  update(num_decayed_, master_.numel() - num_decayed_, 0.0);
  if (!master_.is_same(parameters_)) parameters_.copy_(master_);
}

void FlatAdamW::move_states(at::Device device) {
  const auto move = [&](at::Tensor& tensor) {
    // Page-locked host memory, without which the copies run at a fraction of the bus.
    const bool pins = device.is_cpu() && tensor.is_cuda();
    tensor = at::empty_like(tensor, tensor.options().device(device).pinned_memory(pins)).copy_(tensor);
  };
  const bool is_float32 = master_.is_same(parameters_);
  for (at::Tensor* tensor : {&first_moment_, &second_moment_}) move(*tensor);
  if (!is_float32) move(master_);
}

void FlatAdamW::put_away(bool keeps_parameters) {
  const at::NoGradGuard no_grad;
  home_ = parameters_.device();
  for (auto& slice : slices_) slice.parameter.mutable_grad().reset();
  model_gradient_.reset();
  gradient_.reset();
  move_states(at::kCPU);
  if (keeps_parameters) return;
  const bool is_float32 = master_.is_same(parameters_);
  parameters_ = parameters_.to(at::kCPU);
  if (is_float32) master_ = parameters_;
  bind_parameters();
}

void FlatAdamW::bring_back() {
  const at::NoGradGuard no_grad;
  const bool is_float32 = master_.is_same(parameters_);
  if (parameters_.device() != home_) {
    parameters_ = parameters_.to(home_);
    if (is_float32) master_ = parameters_;
    bind_parameters();
  }
  move_states(home_);
  bind_gradients();
}

NamedTensors FlatAdamW::named_gradients() const {
  NamedTensors named;
  for (const auto& slice : slices_) named.emplace_back(slice.name, view_in(gradient_, slice));
  return named;
}

}  // namespace roll
