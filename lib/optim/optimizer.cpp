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

FlatLayout plan_layout(const NamedTensors& parameters, const SliceOptions& slices) {
  std::vector<FlatParameter> sizes;
  int64_t total = 0;
  for (const auto& [name, tensor] : parameters) {
    const bool is_matrix = tensor.dim() >= 2;
    const int64_t copies = slices.copies ? slices.copies(name) : 1;
    sizes.push_back({.numel = tensor.numel(),
                     .is_matrix = is_matrix,
                     .unit = is_matrix && copies == 1 && slices.unit ? slices.unit(name) : -1,
                     .copies = copies,
                     .uses_muon = slices.uses_muon && slices.uses_muon(name)});
    total += tensor.numel();
  }
  return plan_flat_layout(sizes, slices.num_slices, bucket_elements_for(total));
}

}  // namespace

const std::array<std::pair<const char*, at::Tensor FlatOptimizer::*>, 4> FlatOptimizer::kStates{
    {{"first_moment", &FlatOptimizer::first_moment_},
     {"second_moment", &FlatOptimizer::second_moment_},
     {"low_bits", &FlatOptimizer::low_bits_},
     {"master", &FlatOptimizer::masters_}}};

FlatOptimizer::FlatOptimizer(const NamedTensors& parameters, AdamWConfig config, const SliceOptions& slices,
                             MuonConfig muon)
    : config_(config), muon_(muon), slices_(slices), layout_(plan_layout(parameters, slices)) {
  ROLL_CHECK(!parameters.empty(), "an optimizer needs parameters");
  for (const auto& [name, tensor] : parameters) {
    names_.push_back(name);
    tensors_.push_back(tensor);
  }
  const at::NoGradGuard no_grad;
  options_ = tensors_.front().options().requires_grad(false);
  parameters_ = make_buffers(options_);
  parameter_slices_.resize(parameters_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) view_in(parameters_, i).copy_(tensors_[i]);
  bind_parameters();
  const auto wide = options_.dtype(at::kFloat);
  first_moment_ = at::zeros({layout_.total / slices_.num_slices}, wide);
  second_moment_ = at::zeros({layout_.muon_begin() / slices_.num_slices}, wide);
  const at::ScalarType dtype = tensors_.front().scalar_type();
  if (dtype == at::kBFloat16) {
    low_bits_ = at::zeros_like(first_moment_, at::kShort);
  } else if (dtype != at::kFloat) {
    masters_ = at::empty_like(first_moment_);
    for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) bucket_state(masters_, b).copy_(parameter_slice(b));
  }
  bind_gradients();
}

FlatOptimizer::Buffers FlatOptimizer::make_buffers(const at::TensorOptions& options) const {
  const bool is_contiguous = std::ranges::all_of(layout_.buckets, [](const Bucket& b) { return b.unit < 0; });
  const at::Tensor all = is_contiguous ? at::zeros({layout_.total}, options) : at::Tensor();
  Buffers buffers;
  for (const Bucket& b : layout_.buckets)
    buffers.push_back(is_contiguous ? all.narrow(0, b.begin, b.size) : at::zeros({b.size}, options));
  return buffers;
}

FlatOptimizer::Buffers FlatOptimizer::whole_storages(const Buffers& buffers) const {
  const at::Tensor& first = buffers.front();
  if (buffers.size() > 1 && buffers[1].is_alias_of(first)) return {first.as_strided({layout_.total}, {1}, 0)};
  return buffers;
}

at::Tensor FlatOptimizer::view_in(const Buffers& buffers, int64_t parameter) const {
  const at::Tensor& tensor = tensors_[parameter];
  const int64_t bucket = layout_.bucket_by_tensor[parameter];
  const int64_t begin = layout_.offsets[parameter] - layout_.buckets[bucket].begin;
  return buffers[bucket].narrow(0, begin, tensor.numel()).view(tensor.sizes());
}

void FlatOptimizer::keep_slice(int64_t bucket) {
  const at::NoGradGuard no_grad;
  if (!parameter_slices_[bucket].defined()) parameter_slices_[bucket] = own_slice(parameters_[bucket]).clone();
  parameters_[bucket].reset();
  // Reads of a freed parameter yield NaN.
  const at::Tensor absent = at::full({}, std::nan(""), options_);
  for (const int64_t i : layout_.buckets[bucket].members) tensors_[i].set_data(absent.expand(tensors_[i].sizes()));
}

void FlatOptimizer::make_whole(int64_t bucket) {
  const at::NoGradGuard no_grad;
  parameters_[bucket] = at::empty({layout_.buckets[bucket].size}, options_);
  for (const int64_t i : layout_.buckets[bucket].members) tensors_[i].set_data(view_in(parameters_, i));
}

void FlatOptimizer::open_gradient(int64_t bucket) {
  gradients_[bucket] = at::zeros({layout_.buckets[bucket].size}, options_.dtype(at::kFloat));
  for (const int64_t i : layout_.buckets[bucket].members) tensors_[i].mutable_grad() = view_in(gradients_, i);
}

void FlatOptimizer::close_gradient(int64_t bucket) {
  for (const int64_t i : layout_.buckets[bucket].members) tensors_[i].mutable_grad().reset();
  gradients_[bucket].reset();
}

at::Tensor FlatOptimizer::own_slice(const at::Tensor& bucket) const {
  const int64_t size = bucket.numel() / slices_.num_slices;
  return bucket.narrow(0, slices_.index * size, size);
}

at::Tensor FlatOptimizer::bucket_state(const at::Tensor& states, int64_t bucket) const {
  const Bucket& b = layout_.buckets[bucket];
  return states.narrow(0, b.begin / slices_.num_slices, b.size / slices_.num_slices);
}

void FlatOptimizer::bind_parameters() {
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].set_data(view_in(parameters_, i));
}

// Autograd adds in place to an existing gradient, in its dtype: float32 even for narrower parameters.
void FlatOptimizer::bind_gradients() {
  gradients_ = make_buffers(options_.dtype(at::kFloat));
  gradient_slices_.assign(gradients_.size(), {});
  for (int64_t b = 0; b < std::ssize(gradients_); ++b)
    if (is_gathered(b)) {
      gradient_slices_[b] = at::zeros_like(own_slice(gradients_[b]));
      gradients_[b].reset();
    }
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!is_gathered(layout_.bucket_by_tensor[i])) tensors_[i].mutable_grad() = view_in(gradients_, i);
}

void FlatOptimizer::zero_grad() {
  for (const Buffers* buffers : {&gradients_, &gradient_slices_})
    for (const at::Tensor& gradient : *buffers)
      if (gradient.defined()) gradient.zero_();
}

at::Tensor FlatOptimizer::squared_gradient() const {
  if (!options_.device().is_cpu() && !options_.device().is_meta()) return squared_on_device();
  // A float32 sum of squares over 1e9 elements loses digits; the sum over blocks in double doesn't.
  constexpr int64_t kBlock = int64_t{1} << 22;
  double total = 0;
  if (options_.device().is_meta()) return at::scalar_tensor(total, at::kDouble);
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

at::Tensor FlatOptimizer::squared_on_device() const {
  std::vector<at::Tensor> slices;
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) slices.push_back(gradient_slice(b));
  const std::vector<at::Tensor> norms = at::_foreach_norm(slices, 2, at::kDouble);  // all in one kernel
  std::vector<at::Tensor> squares;
  for (int64_t b = 0; b < std::ssize(norms); ++b)
    squares.push_back(norms[b].square() / static_cast<double>(layout_.buckets[b].copies));
  return at::stack(squares).sum();
}

void FlatOptimizer::step(double lr, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const double scale = max_norm / (norm + 1e-6);
  const bool clips = max_norm > 0 && scale < 1;
  ++num_steps_;
  if (options_.device().is_meta()) return;
  await_states();
  add_momenta(clips ? scale : 1);
  if (low_bits_.defined()) return step_split_slices(lr, clips ? scale : 1);
  for (const bool is_matrix : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second, steps;
    for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) {
      if (layout_.buckets[b].uses_muon || layout_.buckets[b].is_matrix != is_matrix) continue;
      weights.push_back(masters_.defined() ? bucket_state(masters_, b) : parameter_slice(b));
      gradients.push_back(gradient_slice(b));
      first.push_back(bucket_state(first_moment_, b));
      second.push_back(bucket_state(second_moment_, b));
      steps.push_back(at::full({}, static_cast<double>(num_steps_), first_moment_.options()));
      if (clips) gradients.back().mul_(scale);
    }
    if (weights.empty()) continue;
    at::_fused_adamw_(weights, gradients, first, second, {}, steps, lr, config_.beta1, config_.beta2,
                      is_matrix ? config_.weight_decay : 0.0, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  }
  if (!masters_.defined()) return;
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) parameter_slice(b).copy_(bucket_state(masters_, b));
}

void FlatOptimizer::add_momenta(double scale) {
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b)
    if (layout_.buckets[b].uses_muon)
      add_momentum(bucket_state(first_moment_, b), gradient_slice(b).mul_(scale), muon_.momentum);
}

void FlatOptimizer::descend(double lr) {
  const at::NoGradGuard no_grad;
  if (options_.device().is_meta()) return;
  const double decay = 1 - lr * config_.weight_decay;
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) {
    if (!layout_.buckets[b].uses_muon) continue;
    const at::Tensor parameters = parameter_slice(b);
    if (low_bits_.defined()) {
      descend_split(parameters, bucket_state(low_bits_, b), gradient_slice(b), decay, lr);
      continue;
    }
    const at::Tensor masters = masters_.defined() ? bucket_state(masters_, b) : parameters;
    roll::descend(masters, gradient_slice(b), decay, lr);
    if (masters_.defined()) parameters.copy_(masters);
  }
}

void FlatOptimizer::step_split_slices(double lr, double scale) {
  for (int64_t b = 0; b < std::ssize(layout_.buckets); ++b) {
    if (layout_.buckets[b].uses_muon) continue;
    step_split({.high = parameter_slice(b),
                .low = bucket_state(low_bits_, b),
                .gradient = gradient_slice(b),
                .first_moment = bucket_state(first_moment_, b),
                .second_moment = bucket_state(second_moment_, b)},
               config_, layout_.buckets[b].is_matrix ? config_.weight_decay : 0.0, lr, scale, num_steps_);
  }
}

bool FlatOptimizer::has_state(at::Tensor FlatOptimizer::*state, int64_t bucket) const {
  return (this->*state).defined() && !(state == &FlatOptimizer::second_moment_ && layout_.buckets[bucket].uses_muon);
}

std::vector<StatePiece> FlatOptimizer::state_pieces() const {
  await_states();
  std::vector<StatePiece> pieces;
  for (int64_t i = 0; i < std::ssize(tensors_); ++i) {
    const int64_t bucket = layout_.bucket_by_tensor[i];
    const Bucket& b = layout_.buckets[bucket];
    const int64_t slice_begin = b.begin + slices_.index * (b.size / slices_.num_slices);
    const int64_t slice_end = slice_begin + b.size / slices_.num_slices;
    const int64_t offset = layout_.offsets[i];
    const int64_t begin = std::max(offset, slice_begin);
    const int64_t end = std::min(offset + tensors_[i].numel(), slice_end);
    if (begin >= end) continue;
    StatePiece piece{.parameter = i, .begin = begin - offset, .end = end - offset, .states = {}};
    for (const auto& [name, state] : kStates)
      if (has_state(state, bucket))
        piece.states.emplace_back(name, bucket_state(this->*state, bucket).narrow(0, begin - slice_begin, end - begin));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

int64_t FlatOptimizer::num_parameters() const {
  int64_t total = 0;
  for (const at::Tensor& tensor : tensors_) total += tensor.numel();
  return total;
}

int64_t FlatOptimizer::state_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, state] : kStates)
    if ((this->*state).defined()) bytes += (this->*state).storage().nbytes();
  return static_cast<int64_t>(bytes);
}

std::vector<at::Tensor> FlatOptimizer::states() const {
  std::vector<at::Tensor> found;
  for (const auto& [name, state] : kStates)
    if ((this->*state).defined()) found.push_back(this->*state);
  return found;
}

void FlatOptimizer::move_states(at::Device device) {
  for (const auto& [name, state] : kStates)
    if (at::Tensor& state_tensor = this->*state; state_tensor.defined())
      state_tensor = at::empty_like(state_tensor, state_tensor.options().device(device));
}

void FlatOptimizer::await_states() const {
  if (arrived_) arrived_->block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  arrived_.reset();
}

void FlatOptimizer::offload(bool keeps_parameters) {
  const at::NoGradGuard no_grad;
  await_states();
  device_ = options_.device();
  if (!saved_states_) saved_states_.emplace(device_), saved_parameters_.emplace(device_);
  for (at::Tensor& tensor : tensors_) tensor.mutable_grad().reset();
  gradients_.clear();
  gradient_slices_.clear();
  saved_states_->save(states());
  move_states(at::kMeta);
  keeps_parameters_ = keeps_parameters;
  if (keeps_parameters) return;
  saved_parameters_->save(whole_storages(parameters_));
  // Reads of a freed parameter yield NaN.
  const at::Tensor absent = at::full({}, std::nan(""), options_);
  for (at::Tensor& tensor : tensors_) tensor.set_data(absent.expand(tensor.sizes()));
  parameters_ = make_buffers(options_.device(at::kMeta));
}

void FlatOptimizer::reload() {
  const at::NoGradGuard no_grad;
  if (!keeps_parameters_) {
    parameters_ = make_buffers(options_);
    saved_parameters_->load(whole_storages(parameters_));
    bind_parameters();
  }
  move_states(device_);
  bind_gradients();
  arrived_ = saved_states_->load_on_other_stream(states());
}

}  // namespace roll
