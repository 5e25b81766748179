#include "train/learner.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

bool starts_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  for (const auto& prefix : prefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

NamedTensors trainable(const std::string& who, const NamedTensors& parameters, const std::vector<std::string>& frozen) {
  NamedTensors kept;
  for (const auto& [name, tensor] : parameters) {
    const bool is_frozen = starts_with_any(name, frozen);
    tensor.set_requires_grad(!is_frozen);
    if (!is_frozen) kept.emplace_back(name, tensor);
  }
  if (kept.empty()) throw user_error("{}: freeze_module_prefix: leaves no parameter to train; name fewer", who);
  if (!frozen.empty() && kept.size() == parameters.size())
    throw user_error("{}: freeze_module_prefix = {}: no parameter's name starts so; names look like {}", who,
                     frozen.front(), parameters.front().first);
  return kept;
}

}  // namespace

Learner::Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, Communicator& ranks)
    : name_(std::move(name)),
      options_(std::move(options)),
      ranks_(ranks),
      optimizer_(trainable(name_, parameters, options_.frozen_prefixes), options_.adamw) {}

UpdateResult Learner::update(int64_t num_micro_batches, const std::function<at::Tensor(int64_t)>& micro_loss) {
  const Stopwatch watch;
  optimizer_.zero_grad();
  double local_loss = 0;
  for (int64_t k = 0; k < num_micro_batches; ++k) {
    const at::Tensor loss = micro_loss(k);
    if (!loss.defined() || !loss.requires_grad()) continue;
    loss.backward();
    optimizer_.accumulate();
    local_loss += loss.item<double>();
  }
  const double compute_s = watch.seconds();  // every micro-batch ended with an item(), which waits for the device
  ranks_.all_reduce_sum(optimizer_.gradient(), name_ + " gradient");
  UpdateResult result{.loss = ranks_.all_reduce_sum(local_loss, name_ + " loss"),
                      .grad_norm = optimizer_.gradient_norm(),
                      .lr = lr(),
                      .compute_s = compute_s};
  if (!std::isfinite(result.grad_norm))
    throw system_error("{}: update {}: the gradient norm is {} (loss {}); lower the learning rate or check the rewards",
                       name_, num_updates_ + 1, result.grad_norm, result.loss);
  if (keeps_gradient_) {
    kept_gradient_.clear();
    for (const auto& [name, gradient] : optimizer_.named_gradients())
      kept_gradient_.emplace_back(name, gradient.clone());
  }
  optimizer_.step(result.lr, result.grad_norm, options_.max_grad_norm);
  ++num_updates_;
  return result;
}

}  // namespace roll
