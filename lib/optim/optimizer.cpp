#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "optim/split_adamw.h"

namespace roll {

namespace {

FlatLayout layout_of(const NamedTensors& parameters, const SliceOptions& slices) {
  std::vector<FlatParameter> sizes;
  int64_t total = 0;
  for (const auto& [name, tensor] : parameters) {
    sizes.push_back(
        {.numel = tensor.numel(), .is_matrix = tensor.dim() >= 2, .copies = slices.copies ? slices.copies(name) : 1});
    total += tensor.numel();
  }
  return plan_flat_layout(sizes, slices.num_slices, bucket_elements_for(total));
}

}  // namespace

const std::array<std::pair<const char*, at::Tensor FlatAdamW::*>, 4> FlatAdamW::kStates{
    {{"first_moment", &FlatAdamW::first_moment_},
     {"second_moment", &FlatAdamW::second_moment_},
     {"low_bits", &FlatAdamW::low_bits_},
     {"master", &FlatAdamW::masters_}}};

FlatAdamW::FlatAdamW(const NamedTensors& parameters, AdamWConfig config, const SliceOptions& slices)
    : config_(config), slices_(slices), layout_(layout_of(parameters, slices)) {
  ROLL_CHECK(!parameters.empty(), "an optimizer needs parameters");
  for (const auto& [name, tensor] : parameters) {
    names_.push_back(name);
    tensors_.push_back(tensor);
  }
  const at::NoGradGuard no_grad;
  parameters_ = at::zeros({layout_.total}, tensors_.front().options().requires_grad(false));
  for (size_t i = 0; i < tensors_.size(); ++i) view_in(parameters_, i).copy_(tensors_[i]);
  bind_parameters();
  const auto wide = parameters_.options().dtype(at::kFloat);
  first_moment_ = at::zeros({layout_.total / slices_.num_slices}, wide);
  second_moment_ = at::zeros_like(first_moment_);
  if (parameters_.scalar_type() == at::kBFloat16) {
    low_bits_ = at::zeros_like(first_moment_, at::kShort);
  } else if (parameters_.scalar_type() != at::kFloat) {
    masters_ = at::empty_like(first_moment_);
    for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) state_of(masters_, b).copy_(parameter_slice(b));
  }
  bind_gradients();
}

at::Tensor FlatAdamW::view_in(const at::Tensor& flat, int64_t parameter) const {
  const at::Tensor& tensor = tensors_[parameter];
  return flat.narrow(0, layout_.offsets[parameter], tensor.numel()).view(tensor.sizes());
}

at::Tensor FlatAdamW::bucket_of(const at::Tensor& flat, int64_t bucket) const {
  const Bucket& b = layout_.buckets[bucket];
  return flat.narrow(0, b.begin, b.size);
}

at::Tensor FlatAdamW::own_slice(const at::Tensor& bucket) const {
  const int64_t size = bucket.numel() / slices_.num_slices;
  return bucket.narrow(0, slices_.own * size, size);
}

at::Tensor FlatAdamW::state_of(const at::Tensor& states, int64_t bucket) const {
  const Bucket& b = layout_.buckets[bucket];
  return states.narrow(0, b.begin / slices_.num_slices, b.size / slices_.num_slices);
}

void FlatAdamW::bind_parameters() {
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].set_data(view_in(parameters_, i));
}

// Autograd adds in place into a gradient that is already there, in its dtype: float32 also of parameters in less.
void FlatAdamW::bind_gradients() {
  gradient_ = at::zeros_like(parameters_, at::kFloat);
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].mutable_grad() = view_in(gradient_, i);
}

void FlatAdamW::zero_grad() {
  gradient_.zero_();
}

at::Tensor FlatAdamW::squared_gradient() const {
  if (!gradient_.is_cpu() && !gradient_.is_meta()) return squared_on_device();
  // A float32 sum of squares over 1e9 elements loses digits; the sum over blocks in double doesn't.
  constexpr int64_t kBlock = int64_t{1} << 22;
  double total = 0;
  if (gradient_.is_meta()) return at::scalar_tensor(total, at::kDouble);
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) {
    const at::Tensor slice = gradient_slice(b);
    double squares = 0;
    for (int64_t begin = 0; begin < slice.numel(); begin += kBlock) {
      const at::Tensor block = slice.narrow(0, begin, std::min(kBlock, slice.numel() - begin)).to(at::kDouble);
      squares += block.dot(block).item<double>();
    }
    total += squares / static_cast<double>(layout_.buckets[b].copies);
  }
  return at::scalar_tensor(total, at::kDouble);
}

at::Tensor FlatAdamW::squared_on_device() const {
  std::vector<at::Tensor> slices;
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) slices.push_back(gradient_slice(b));
  const std::vector<at::Tensor> norms = at::_foreach_norm(slices, 2, at::kDouble);  // all in one kernel
  std::vector<at::Tensor> squares;
  for (int64_t b = 0; b < std::ssize(norms); ++b)
    squares.push_back(norms[b].square() / static_cast<double>(layout_.buckets[b].copies));
  return at::stack(squares).sum();
}

void FlatAdamW::step(double lr, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const double scale = max_norm / (norm + 1e-6);
  const bool clips = max_norm > 0 && scale < 1;
  ++num_steps_;
  if (gradient_.is_meta()) return;
  await_states();
  if (low_bits_.defined()) return step_split_slices(lr, clips ? scale : 1);
  for (const bool is_matrix : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second, steps;
    for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) {
      if (layout_.buckets[b].is_matrix != is_matrix) continue;
      weights.push_back(masters_.defined() ? state_of(masters_, b) : parameter_slice(b));
      gradients.push_back(gradient_slice(b));
      first.push_back(state_of(first_moment_, b));
      second.push_back(state_of(second_moment_, b));
      steps.push_back(at::full({}, static_cast<double>(num_steps_), first_moment_.options()));
      if (clips) gradients.back().mul_(scale);
    }
    if (weights.empty()) continue;
    at::_fused_adamw_(weights, gradients, first, second, {}, steps, lr, config_.beta1, config_.beta2,
                      is_matrix ? config_.weight_decay : 0.0, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  }
  if (!masters_.defined()) return;
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) parameter_slice(b).copy_(state_of(masters_, b));
}

void FlatAdamW::step_split_slices(double lr, double scale) {
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b)
    step_split({.high = parameter_slice(b),
                .low = state_of(low_bits_, b),
                .gradient = gradient_slice(b),
                .first_moment = state_of(first_moment_, b),
                .second_moment = state_of(second_moment_, b)},
               config_, layout_.buckets[b].is_matrix ? config_.weight_decay : 0.0, lr, scale, num_steps_);
}

std::vector<StatePiece> FlatAdamW::state_pieces() const {
  await_states();
  std::vector<StatePiece> pieces;
  for (int64_t i = 0; i < std::ssize(tensors_); ++i) {
    const int64_t bucket = layout_.bucket_of[i];
    const Bucket& b = layout_.buckets[bucket];
    const int64_t slice_begin = b.begin + slices_.own * (b.size / slices_.num_slices);
    const int64_t slice_end = slice_begin + b.size / slices_.num_slices;
    const int64_t offset = layout_.offsets[i];
    const int64_t begin = std::max(offset, slice_begin);
    const int64_t end = std::min(offset + tensors_[i].numel(), slice_end);
    if (begin >= end) continue;
    StatePiece piece{.parameter = i, .begin = begin - offset, .end = end - offset, .states = {}};
    for (const auto& [name, state] : kStates)
      if ((this->*state).defined())
        piece.states.emplace_back(name, state_of(this->*state, bucket).narrow(0, begin - slice_begin, end - begin));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

int64_t FlatAdamW::num_parameters() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : tensors_) total += tensor.numel();
  return total;
}

int64_t FlatAdamW::state_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, state] : kStates)
    if ((this->*state).defined()) bytes += (this->*state).storage().nbytes();
  return static_cast<int64_t>(bytes);
}

std::vector<at::Tensor> FlatAdamW::states() const {
  std::vector<at::Tensor> found;
  for (const auto& [name, state] : kStates)
    if ((this->*state).defined()) found.push_back(this->*state);
  return found;
}

void FlatAdamW::move_states(at::Device device) {
  for (const auto& [name, state] : kStates)
    if (at::Tensor& own = this->*state; own.defined()) own = at::empty_like(own, own.options().device(device));
}

void FlatAdamW::await_states() const {
  if (arrived_) arrived_->block(c10::impl::VirtualGuardImpl(home_.type()).getStream(home_));
  arrived_.reset();
}

void FlatAdamW::offload(bool keeps_parameters) {
  const at::NoGradGuard no_grad;
  await_states();
  home_ = parameters_.device();
  if (!saved_states_) saved_states_.emplace(home_), saved_parameters_.emplace(home_);
  for (at::Tensor& tensor : tensors_) tensor.mutable_grad().reset();
  gradient_.reset();
  saved_states_->save(states());
  move_states(at::kMeta);
  keeps_parameters_ = keeps_parameters;
  if (keeps_parameters) return;
  saved_parameters_->save({parameters_});
  // Whoever reads one meanwhile reads that it is no number.
  const at::Tensor absent = at::full({}, std::nan(""), parameters_.options());
  for (at::Tensor& tensor : tensors_) tensor.set_data(absent.expand(tensor.sizes()));
  parameters_ = at::empty_like(parameters_, parameters_.options().device(at::kMeta));
}

void FlatAdamW::reload() {
  const at::NoGradGuard no_grad;
  if (!keeps_parameters_) {
    parameters_ = at::empty_like(parameters_, parameters_.options().device(home_));
    saved_parameters_->load({parameters_});
    bind_parameters();
  }
  move_states(home_);
  bind_gradients();
  arrived_ = saved_states_->load_beside(states());
}

}  // namespace roll
