#include "optim/gradient_reducer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

struct GradientReducer::Hook : torch::autograd::PostAccumulateGradHook {
  Hook(GradientReducer& o, int64_t p) : owner(o), parameter(p) {}
  void operator()(const at::Tensor&) override { owner.on_gradient(parameter); }
  GradientReducer& owner;
  int64_t parameter;
};

GradientReducer::GradientReducer(FlatOptimizer& optimizer, const NamedTensors& parameters, Communicator& ranks,
                                 bool scatters, bool waits)
    : optimizer_(optimizer), parameters_(parameters), ranks_(ranks), scatters_(scatters), waits_(waits) {
  for (int64_t b = 0; b < std::ssize(optimizer_.layout().buckets); ++b) waits_ = waits_ || optimizer_.is_gathered(b);
  for (size_t i = 0; i < parameters_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i].second, std::make_unique<Hook>(*this, i));
}

GradientReducer::~GradientReducer() {
  for (const auto& [name, tensor] : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(tensor, nullptr);
}

void GradientReducer::expect_last() {
  is_last_ = true;
  next_ = 0;
  missing_.clear();
  sent_.clear();
  trace_.clear();
  for (const Bucket& bucket : optimizer_.layout().buckets) missing_.push_back(std::ssize(bucket.members));
}

void GradientReducer::on_gradient(int64_t parameter) {
  ROLL_CHECK(parameters_[parameter].second.grad().is_alias_of(optimizer_.named_gradient(parameter)),
             "autograd accumulates into the flat buffer");
  if (!is_last_ || waits_) return;
  --missing_[optimizer_.layout().bucket_by_tensor[parameter]];
  send_ready();
}

void GradientReducer::send_ready() {
  const FlatLayout& layout = optimizer_.layout();
  for (; next_ < layout.reduce_order.size(); ++next_) {
    const int64_t bucket = layout.reduce_order[next_];
    // Copies of a parameter are first summed over the tensor ranks, whose collective must not start amid their
    // backward.
    if (missing_[bucket] > 0 || layout.buckets[bucket].copies > 1) return;
    send(bucket);
  }
}

void GradientReducer::send(int64_t bucket) {
  const double ready_s = monotonic_s();
  if (!ranks_.communicates()) return;
  const at::Tensor gradient = optimizer_.gradient(bucket);
  const std::string name = fmt::format("gradient bucket {}", bucket);
  sent_.push_back(scatters_ ? ranks_.start_reduce_scatter(gradient, optimizer_.gradient_slice(bucket), name)
                            : ranks_.start_all_reduce(gradient, name));
  trace_.push_back({.bucket = bucket, .bytes = static_cast<int64_t>(gradient.nbytes()), .ready_s = ready_s});
}

void GradientReducer::finish(const std::function<void(const Bucket&, int64_t)>& sum_copies) {
  ROLL_CHECK(is_last_, "expect_last() comes before the last backward");
  is_last_ = false;
  const FlatLayout& layout = optimizer_.layout();
  for (; next_ < layout.reduce_order.size(); ++next_) {
    const int64_t bucket = layout.reduce_order[next_];
    const Bucket& b = layout.buckets[bucket];
    if (optimizer_.is_gathered(bucket)) continue;  // summed layer by layer (gathered_layers.h)
    if (b.copies > 1) sum_copies(b, bucket);
    send(bucket);
  }
  for (size_t i = 0; i < sent_.size(); ++i) {
    sent_[i]->wait();
    trace_[i].begin_s = sent_[i]->begin_s();
    trace_[i].end_s = sent_[i]->end_s();
  }
  sent_.clear();
}

}  // namespace roll
