#include "optim/learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "device/device_timer.h"
#include "device/transfers.h"

namespace roll {

namespace {

NamedTensors trainable(const std::string& who, const NamedTensors& parameters, const std::vector<std::string>& frozen) {
  NamedTensors kept;
  for (const auto& [name, tensor] : parameters) {
    const bool trains = !is_frozen(name, frozen);
    tensor.set_requires_grad(trains);
    if (trains) kept.emplace_back(name, tensor);
  }
  if (kept.empty()) throw user_error("{}: freeze_module_prefix: leaves no parameter to train; name fewer", who);
  if (!frozen.empty() && kept.size() == parameters.size())
    throw user_error("{}: freeze_module_prefix = {}: no parameter's name starts so; names look like {}", who,
                     frozen.front(), parameters.front().first);
  return kept;
}

SliceOptions slices_of(const LearnerOptions& options, const LearnerRanks& ranks) {
  SliceOptions slices;
  if (options.shares_optimizer) {
    slices.num_slices = ranks.shards.size();
    slices.own = ranks.shards.rank();
  }
  if (ranks.parts) slices.copies = [parts = ranks.parts](const std::string& name) { return parts->part(name).copies; };
  return slices;
}

}  // namespace

bool is_frozen(const std::string& parameter, const std::vector<std::string>& frozen_prefixes) {
  return std::any_of(frozen_prefixes.begin(), frozen_prefixes.end(),
                     [&](const std::string& prefix) { return parameter.starts_with(prefix); });
}

Learner::Learner(std::string name, const NamedTensors& parameters, LearnerOptions options, const LearnerRanks& ranks)
    : name_(std::move(name)),
      options_(std::move(options)),
      ranks_(ranks),
      parameters_(trainable(name_, parameters, options_.frozen_prefixes)),
      optimizer_(parameters_, options_.adamw, slices_of(options_, ranks_)),
      reducer_(optimizer_, parameters_, ranks_.shards, options_.shares_optimizer) {}

Learner::Accumulated Learner::accumulate(int64_t num_micro_batches,
                                         const std::function<MicroLoss(int64_t)>& micro_loss) {
  Accumulated all;
  optimizer_.zero_grad();
  for (int64_t k = 0; k < num_micro_batches; ++k) {
    const MicroLoss micro = micro_loss(k);
    if (k + 1 == num_micro_batches) expect_last();
    all.numbers.insert(all.numbers.end(), micro.numbers.begin(), micro.numbers.end());
    if (!micro.loss.defined() || !micro.loss.requires_grad()) continue;
    micro.loss.backward();
    all.losses.push_back(micro.loss.detach());
  }
  if (num_micro_batches == 0) expect_last();
  return all;
}

UpdateResult Learner::update(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss) {
  trace_.begin_s = monotonic_s();
  DeviceTimer timer(parameters_.front().second.device());
  const Accumulated accumulated = accumulate(num_micro_batches, micro_loss);
  timer.stop();
  UpdateResult result{.lr = lr()};
  reducer_.finish([&](const Bucket& bucket, int64_t index) { sum_copies(bucket, index); });
  trace_.buckets = reducer_.buckets();
  trace_.reduced_s = monotonic_s();
  fetch(accumulated, result);
  result.compute_s = timer.seconds();
  trace_.last_end_s = trace_.begin_s + result.compute_s;
  last_loss_ = result.loss;
  if (keeps_gradient_) keep_gradient();
  result.skipped = !std::isfinite(result.grad_norm);
  num_skipped_in_a_row_ = result.skipped ? num_skipped_in_a_row_ + 1 : 0;
  if (!result.skipped) {
    if (options_.max_grad_norm > 0) result.clip_coef = std::min(1.0, options_.max_grad_norm / result.grad_norm);
    optimizer_.step(result.lr, result.grad_norm, options_.max_grad_norm);
    gather_parameters();
  }
  trace_.end_s = monotonic_s();
  ++num_updates_;
  return result;
}

Json Learner::state() const {
  // next_lr tells a resumed run whether its schedule is still the same (step/schedule_change.h).
  return {{"updates", num_updates_}, {"skipped_in_a_row", num_skipped_in_a_row_}, {"next_lr", lr()}};
}

std::optional<OptimizerShard> Learner::optimizer_shard() const {
  if (!options_.shares_optimizer && ranks_.shards.rank() > 0) return {};
  return roll::optimizer_shard(optimizer_, ranks_.parts);
}

void Learner::load(const Json& state, const std::filesystem::path& folder, const std::string& name) {
  load_optimizer(optimizer_, ranks_.parts, folder, name);
  num_updates_ = state.at("updates").get<int64_t>();
  num_skipped_in_a_row_ = state.at("skipped_in_a_row").get<int64_t>();
}

void Learner::expect_last() {
  trace_.last_begin_s = monotonic_s();
  reducer_.expect_last();
}

void Learner::sum_copies(const Bucket& bucket, int64_t index) {
  const auto is_whole = [&](int64_t i) { return ranks_.parts->part(optimizer_.names()[i]).dim < 0; };
  if (std::all_of(bucket.members.begin(), bucket.members.end(), is_whole)) {
    at::Tensor all = optimizer_.gradient(index);
    return ranks_.parts->tp()->all_reduce_sum(all, name_ + " gradient of shared parameters");
  }
  for (const int64_t i : bucket.members) {
    at::Tensor gradient = optimizer_.named_gradient(i);
    ranks_.parts->sum_copies(optimizer_.names()[i], gradient);
  }
}

void Learner::fetch(const Accumulated& accumulated, UpdateResult& result) {
  std::vector<at::Tensor> wanted = accumulated.losses;
  wanted.push_back(optimizer_.squared_gradient());
  wanted.insert(wanted.end(), accumulated.numbers.begin(), accumulated.numbers.end());
  const std::vector<at::Tensor> found = fetched(wanted);
  const auto num_losses = std::ssize(accumulated.losses);
  double local_loss = 0;
  for (int64_t k = 0; k < num_losses; ++k) local_loss += found[k].item<double>();
  result.loss = ranks_.dp.all_reduce_sum(local_loss, name_ + " loss");
  result.grad_norm = gradient_norm(found[num_losses].item<double>(), result.loss);
  result.numbers.assign(found.begin() + num_losses + 1, found.end());
}

double Learner::gradient_norm(double squares, double loss) {
  if (!std::isfinite(loss)) squares = std::nan("");
  if (options_.shares_optimizer && ranks_.shards.communicates())
    squares = ranks_.shards.all_reduce_sum(squares, name_ + " gradient norm");
  if (ranks_.parts && !ranks_.parts->is_whole())
    squares = ranks_.parts->tp()->all_reduce_sum(squares, name_ + " gradient norm");
  return std::sqrt(squares);
}

void Learner::keep_gradient() {
  if (options_.shares_optimizer)
    for (int64_t b = 0; b < std::ssize(optimizer_.layout().buckets); ++b)
      ranks_.shards.start_all_gather(optimizer_.gradient_slice(b), optimizer_.gradient(b), name_ + " gradient")->wait();
  kept_gradient_.clear();
  for (int64_t i = 0; i < std::ssize(optimizer_.names()); ++i) {
    const std::string& name = optimizer_.names()[i];
    const at::Tensor gradient = optimizer_.named_gradient(i);
    kept_gradient_.emplace_back(name, (ranks_.parts ? ranks_.parts->gather(name, gradient) : gradient).clone());
  }
}

void Learner::gather_parameters() {
  if (!options_.shares_optimizer || !ranks_.shards.communicates()) return;
  std::vector<std::unique_ptr<Pending>> sent;
  for (int64_t b = 0; b < std::ssize(optimizer_.layout().buckets); ++b)
    sent.push_back(
        ranks_.shards.start_all_gather(optimizer_.parameter_slice(b), optimizer_.parameters(b), name_ + " parameters"));
  for (const auto& pending : sent) pending->wait();
}

}  // namespace roll
