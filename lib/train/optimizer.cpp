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
  const auto options = slices_.front().parameter.options().requires_grad(false);
  parameters_ = at::empty({total}, options);
  model_gradient_ = at::zeros({total}, options);
  for (auto& slice : slices_) {
    const at::Tensor place = view_in(parameters_, slice);
    place.copy_(slice.parameter);
    slice.parameter.set_data(place);
  }
  const bool is_float32 = options.dtype() == at::kFloat;
  master_ = is_float32 ? parameters_ : parameters_.to(at::kFloat);
  gradient_ = is_float32 ? model_gradient_ : at::zeros_like(master_);
  first_moment_ = at::zeros_like(master_);
  second_moment_ = at::zeros_like(master_);
  bind_gradients();
}

at::Tensor FlatAdamW::view_in(const at::Tensor& flat, const Slice& slice) const {
  return flat.narrow(0, slice.offset, slice.parameter.numel()).view(slice.parameter.sizes());
}

// Autograd adds in place into a gradient that is already there, so it writes straight into the flat buffer.
void FlatAdamW::bind_gradients() {
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

NamedTensors FlatAdamW::named_gradients() const {
  NamedTensors named;
  for (const auto& slice : slices_) named.emplace_back(slice.name, view_in(gradient_, slice));
  return named;
}

}  // namespace roll
