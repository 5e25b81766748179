#include "optim/gathered_layers.h"

#include <ATen/ATen.h>

#include <charconv>

namespace roll {

int64_t layer_number(const std::string& name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t found = name.find(kLayers);
  if (found == std::string::npos) return -1;
  int64_t number = -1;
  std::from_chars(name.data() + found + kLayers.size(), name.data() + name.size(), number);
  return number;
}

GatheredLayers::GatheredLayers(FlatOptimizer& optimizer, const NamedTensors& parameters, Communicator& ranks)
    : optimizer_(optimizer), ranks_(ranks) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (const int64_t b = optimizer.layout().bucket_by_tensor[i]; optimizer.is_gathered(b))
      buckets_[parameters[i].second.unsafeGetTensorImpl()] = b;
  for (int64_t b = 0; b < std::ssize(optimizer.layout().buckets); ++b)
    if (optimizer.is_gathered(b)) gathered_buckets_.push_back(b);
}

std::set<int64_t> GatheredLayers::find_buckets(const Weights& weights) const {
  std::set<int64_t> found;
  for (const at::Tensor& weight : weights)
    if (const auto bucket = buckets_.find(weight.unsafeGetTensorImpl()); bucket != buckets_.end())
      found.insert(bucket->second);
  return found;
}

void GatheredLayers::start(int64_t bucket) {
  if (optimizer_.is_whole(bucket)) return;
  optimizer_.make_whole(bucket);
  pending_[bucket] = ranks_.start_all_gather(optimizer_.parameter_slice(bucket), optimizer_.parameters(bucket),
                                             "parameters of a layer");
}

void GatheredLayers::gather(int64_t bucket) {
  start(bucket);
  pending_.at(bucket)->wait();
  pending_.erase(bucket);
}

void GatheredLayers::reduce(int64_t bucket) {
  const at::Tensor sum = at::empty_like(optimizer_.gradient_slice(bucket));
  ranks_.start_reduce_scatter(optimizer_.gradient(bucket), sum, "gradients of a layer")->wait();
  optimizer_.gradient_slice(bucket).add_(sum);
  optimizer_.close_gradient(bucket);
  optimizer_.keep_slice(bucket);
}

void GatheredLayers::enter(const Weights& weights, const Weights& next, Pass pass) {
  if (!is_updating_) return;
  if (pass == Pass::kBackward) end_backward();  // for the layers after these
  for (const int64_t bucket : find_buckets(weights)) {
    gather(bucket);
    if (pass == Pass::kForward) continue;
    open_gradients_.push_back(bucket);
    optimizer_.open_gradient(bucket);
  }
  for (const int64_t bucket : find_buckets(next)) start(bucket);
}

void GatheredLayers::leave(const Weights& weights) {
  if (!is_updating_) return;
  for (const int64_t bucket : find_buckets(weights)) optimizer_.keep_slice(bucket);
}

void GatheredLayers::begin() {
  is_updating_ = true;
  for (const int64_t bucket : gathered_buckets_) optimizer_.keep_slice(bucket);
}

void GatheredLayers::end_backward() {
  for (const int64_t bucket : open_gradients_) reduce(bucket);
  open_gradients_.clear();
}

void GatheredLayers::end() {
  for (const int64_t bucket : gathered_buckets_) start(bucket);
  for (const int64_t bucket : gathered_buckets_) {
    gather(bucket);
    optimizer_.forget_slice(bucket);
  }
  is_updating_ = false;
}

}  // namespace roll
