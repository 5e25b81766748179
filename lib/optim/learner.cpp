#include "optim/learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "device/device_timer.h"
#include "device/transfers.h"
#include "optim/muon_ranks.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

/// Returns the trained parameters. **Collective** over the stages of a pipeline.
NamedTensors trainable(const std::string& who, const NamedTensors& parameters, const std::vector<std::string>& frozen,
                       const LearnerRanks& ranks) {
  PipelineStage* const stage = ranks.stage();
  NamedTensors trained;
  int64_t num_frozen = 0;
  for (const auto& [name, tensor] : parameters) {
    const bool freezes = is_frozen(name, frozen), trains = !freezes && !(ranks.parts && ranks.parts->is_constant(name));
    tensor.set_requires_grad(trains);
    if (trains) trained.emplace_back(name, tensor);
    num_frozen += freezes;
  }
  if (stage && !frozen.empty()) num_frozen = stage->ranks().all_reduce_sum(num_frozen, "frozen parameters");
  if (!frozen.empty() && num_frozen == 0)
    throw user_error("{}: freeze_module_prefix = {}: no parameter's name starts with it; a parameter's name is {}", who,
                     frozen.front(), parameters.front().first);
  if (trained.empty())
    throw user_error("{}: freeze_module_prefix: leaves no parameter to train; give fewer prefixes", who);
  return trained;
}

bool gathers(const LearnerOptions& options, const Communicator& holders) {
  return options.gathers_layers && holders.communicates();
}

SliceOptions make_slices(const LearnerOptions& options, const LearnerRanks& ranks, const Communicator& holders) {
  SliceOptions slices;
  if (options.shares_optimizer) {
    slices.num_slices = holders.size();
    slices.index = holders.rank();
  }
  if (gathers(options, holders)) slices.unit = layer_number;
  if (ranks.parts) slices.copies = [parts = ranks.parts](const std::string& name) { return parts->count_copies(name); };
  if (options.muon) {
    ROLL_CHECK(ranks.parts, "Muon must know the parameters that it may update");
    slices.uses_muon = [parts = ranks.parts](const std::string& name) { return parts->is_projection(name); };
  }
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
      parameters_(trainable(name_, parameters, options_.frozen_prefixes, ranks)) {
  for (const bool is_mtp : {false, true})
    for (const bool is_expert : {false, true}) add_group(is_expert, is_mtp);
}

Learner::ParameterGroup::ParameterGroup(const NamedTensors& group_parameters, const LearnerOptions& options,
                                        const LearnerRanks& ranks, bool is_expert, bool is_mtp)
    : parameters(group_parameters),
      is_of_experts(is_expert),
      is_of_mtp(is_mtp),
      shards(is_expert ? *ranks.expert_shards : ranks.shards),
      optimizer(parameters, options.adamw, make_slices(options, ranks, shards), options.muon.value_or(MuonConfig())),
      reducer(optimizer, parameters, shards, options.shares_optimizer, /*waits=*/is_mtp) {
  if (gathers(options, shards)) layers = std::make_shared<GatheredLayers>(optimizer, parameters, shards);
}

void Learner::add_group(bool is_expert, bool is_mtp) {
  NamedTensors group_parameters;
  for (const auto& named : parameters_)
    if (is_expert == (ranks_.experts && ranks_.parts->is_of_expert(named.first)) &&
        is_mtp == (has_mtp() && ranks_.parts->is_mtp(named.first)))
      group_parameters.push_back(named);
  if (group_parameters.empty()) return;
  LearnerOptions options = options_;
  options.gathers_layers &= !is_mtp;  // the head's layer is always whole
  groups_.push_back(std::make_unique<ParameterGroup>(group_parameters, options, ranks_, is_expert, is_mtp));
}

void Learner::offload(bool keeps_parameters) {
  for (const auto& group : groups_) group->optimizer.offload(keeps_parameters);
}

void Learner::reload() {
  for (const auto& group : groups_) group->optimizer.reload();
}

int64_t Learner::num_parameters() const {
  int64_t total = 0;
  for (const auto& group : groups_) total += group->optimizer.num_parameters();
  return total;
}

int64_t Learner::optimizer_bytes() const {
  int64_t total = 0;
  for (const auto& group : groups_) total += group->optimizer.state_bytes();
  return total;
}

Learner::Accumulated Learner::accumulate(int64_t num_micro_batches,
                                         const std::function<MicroLoss(int64_t)>& micro_loss) {
  Accumulated accumulated;
  for (const auto& group : groups_) group->optimizer.zero_grad();
  GatheredLayers* const layers = groups_.front()->layers.get();
  if (layers) layers->begin();
  PipelineStage* const stage = ranks_.stage();
  const PipelineShape shape = stage ? stage->shape() : PipelineShape();
  std::vector<std::deque<at::Tensor>> losses(shape.num_chunks);  // by chunk: losses whose backward is pending
  const auto passes = one_forward_one_backward(stage ? stage->index() : 0, shape, num_micro_batches);
  const auto run = [&](const PipelinePass& pass) {
    auto& chunk_losses = losses[pass.chunk];
    if (pass.is_forward) {
      const MicroLoss micro = micro_loss(pass.micro_batch);
      chunk_losses.push_back(micro.loss);
      accumulated.numbers.insert(accumulated.numbers.end(), micro.numbers.begin(), micro.numbers.end());
      return;
    }
    if (&pass == &passes.back()) expect_last();
    const at::Tensor loss = std::move(chunk_losses.front());
    chunk_losses.pop_front();
    const bool is_differentiable = loss.defined() && loss.requires_grad();
    if (stage)
      stage->backward(loss);
    else if (is_differentiable)
      loss.backward();
    if (layers) layers->end_backward();
    if (is_differentiable) accumulated.losses.push_back(loss.detach());
  };
  if (stage && !parameters_.front().second.is_cuda()) accumulated.pass_s.emplace();
  for (const PipelinePass& pass : passes) {
    if (!stage) {
      run(pass);
      continue;
    }
    stage->enter(pass.chunk);
    const double before_s = thread_cpu_s() - stage->receiving_cpu_s();
    run(pass);
    if (accumulated.pass_s) accumulated.pass_s->push_back(thread_cpu_s() - stage->receiving_cpu_s() - before_s);
  }
  if (num_micro_batches == 0) expect_last();
  if (stage) stage->finish();
  return accumulated;
}

UpdateResult Learner::update(int64_t num_micro_batches, const std::function<MicroLoss(int64_t)>& micro_loss) {
  trace_.begin_s = monotonic_s();
  if (ranks_.stage()) ranks_.stage()->take_waited_s();  // drops the waits of earlier forwards
  DeviceTimer timer(parameters_.front().second.device());
  const Accumulated accumulated = accumulate(num_micro_batches, micro_loss);
  timer.stop();
  UpdateResult result{.lr = lr(), .pass_s = accumulated.pass_s};
  trace_.buckets.clear();
  for (const auto& group : groups_) {
    group->reducer.finish([&](const Bucket& bucket, int64_t index) { sum_copies(group->optimizer, bucket, index); });
    std::ranges::copy(group->reducer.buckets(), std::back_inserter(trace_.buckets));
  }
  trace_.reduced_s = monotonic_s();
  fetch(accumulated, result);
  result.compute_s = timer.seconds();
  if (ranks_.stage()) result.stage_wait_s = ranks_.stage()->take_waited_s();
  trace_.last_end_s = trace_.begin_s + result.compute_s;
  last_loss_ = result.loss;
  if (keeps_gradient_) keep_gradient();
  result.skipped = !std::isfinite(result.grad_norm + result.mtp_grad_norm.value_or(0));
  num_skipped_in_a_row_ = result.skipped ? num_skipped_in_a_row_ + 1 : 0;
  if (!result.skipped) {
    if (options_.max_grad_norm > 0) result.clip_coef = std::min(1.0, options_.max_grad_norm / result.grad_norm);
    make_step(result);
    gather_parameters();
  }
  if (gathers_layers()) groups_.front()->layers->end();
  trace_.end_s = monotonic_s();
  ++num_updates_;
  return result;
}

void Learner::make_step(const UpdateResult& update) {
  for (const auto& group : groups_) {
    const double norm = group->is_of_mtp ? update.mtp_grad_norm.value() : update.grad_norm;
    group->optimizer.step(update.lr, norm, options_.max_grad_norm);
    if (!options_.muon) continue;
    make_muon_updates(group->optimizer, options_.muon->num_steps,
                      {group->shards, options_.shares_optimizer, *ranks_.parts});
    group->optimizer.descend(update.lr);
  }
}

Json Learner::state() const {
  // A resumed run compares next_lr to check that its schedule is unchanged (step/schedule_change.h).
  return {{"updates", num_updates_}, {"skipped_in_a_row", num_skipped_in_a_row_}, {"next_lr", lr()}};
}

std::optional<OptimizerShard> Learner::optimizer_shard() const {
  std::optional<OptimizerShard> shard;
  for (const auto& group : groups_) {
    if (!options_.shares_optimizer && group->shards.rank() > 0) continue;
    OptimizerShard group_shard = roll::optimizer_shard(group->optimizer, ranks_.parts);
    if (!shard) {
      shard = std::move(group_shard);
      continue;
    }
    shard->about["parameters"].update(group_shard.about["parameters"]);
    std::ranges::move(group_shard.tensors, std::back_inserter(shard->tensors));
  }
  return shard;
}

void Learner::load(const Json& state, const std::filesystem::path& folder, const std::string& name) {
  for (const auto& group : groups_) load_optimizer(group->optimizer, ranks_.parts, folder, name);
  num_updates_ = state.at("updates").get<int64_t>();
  num_skipped_in_a_row_ = state.at("skipped_in_a_row").get<int64_t>();
}

void Learner::expect_last() {
  trace_.last_begin_s = monotonic_s();
  for (const auto& group : groups_) group->reducer.expect_last();
}

void Learner::sum_copies(const FlatOptimizer& optimizer, const Bucket& bucket, int64_t index) {
  const auto is_whole = [&](int64_t i) { return ranks_.parts->part(optimizer.names()[i]).dim < 0; };
  if (std::all_of(bucket.members.begin(), bucket.members.end(), is_whole)) {
    at::Tensor gradient = optimizer.gradient(index);
    return ranks_.parts->tp()->all_reduce_sum(gradient, name_ + " gradient of shared parameters");
  }
  for (const int64_t i : bucket.members) {
    at::Tensor gradient = optimizer.named_gradient(i);
    ranks_.parts->sum_copies(optimizer.names()[i], gradient);
  }
}

void Learner::fetch(const Accumulated& accumulated, UpdateResult& result) {
  std::vector<at::Tensor> tensors = accumulated.losses;
  std::vector<at::Tensor> squares;
  for (const auto& group : groups_) squares.push_back(group->optimizer.squared_gradient());
  tensors.push_back(at::stack(squares));
  tensors.insert(tensors.end(), accumulated.numbers.begin(), accumulated.numbers.end());
  const std::vector<at::Tensor> values = fetch_values(tensors);
  const auto num_losses = std::ssize(accumulated.losses);
  double local_loss = 0;
  for (int64_t k = 0; k < num_losses; ++k) local_loss += values[k].item<double>();
  result.loss = ranks_.dp.all_reduce_sum(local_loss, name_ + " loss");
  if (ranks_.stage()) result.loss = ranks_.stage()->ranks().all_reduce_sum(result.loss, name_ + " loss");
  result.grad_norm = gradient_norm(values[num_losses], result.loss, /*is_for_mtp=*/false);
  if (has_mtp()) result.mtp_grad_norm = gradient_norm(values[num_losses], result.loss, /*is_for_mtp=*/true);
  result.numbers.assign(values.begin() + num_losses + 1, values.end());
}

double Learner::gradient_norm(const at::Tensor& group_squares, double loss, bool is_for_mtp) {
  double squares = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i]->is_of_mtp != is_for_mtp) continue;
    const double group_square = group_squares[static_cast<int64_t>(i)].item<double>();
    const bool sums_over_experts =
        groups_[i]->is_of_experts && !options_.shares_optimizer;  // slices are summed over all ranks below
    squares += sums_over_experts ? ranks_.experts->all_reduce_sum(group_square, name_ + " gradient norm of experts")
                                 : group_square;
  }
  if (!std::isfinite(loss)) squares = std::nan("");
  if (options_.shares_optimizer && ranks_.shards.communicates())
    squares = ranks_.shards.all_reduce_sum(squares, name_ + " gradient norm");
  if (ranks_.parts && !ranks_.parts->is_whole())
    squares = ranks_.parts->tp()->all_reduce_sum(squares, name_ + " gradient norm");
  if (ranks_.stage()) squares = ranks_.stage()->ranks().all_reduce_sum(squares, name_ + " gradient norm");
  return std::sqrt(squares);
}

void Learner::keep_gradient() {
  NamedTensors local_gradients;
  for (const auto& group : groups_) {
    FlatOptimizer& optimizer = group->optimizer;
    if (options_.shares_optimizer)
      for (int64_t b = 0; b < std::ssize(optimizer.layout().buckets); ++b) {
        if (optimizer.is_gathered(b)) optimizer.open_gradient(b);
        group->shards.start_all_gather(optimizer.gradient_slice(b), optimizer.gradient(b), name_ + " gradient")->wait();
      }
    for (int64_t i = 0; i < std::ssize(optimizer.names()); ++i)
      local_gradients.emplace_back(optimizer.names()[i], optimizer.named_gradient(i));
    for (int64_t b = 0; b < std::ssize(optimizer.layout().buckets); ++b)
      if (optimizer.is_gathered(b)) optimizer.close_gradient(b);
  }
  if (ranks_.experts || ranks_.stage()) {
    kept_gradient_ = ranks_.parts->gather_all(local_gradients, /*keep=*/true);
    for (auto& [name, gradient] : kept_gradient_) gradient = gradient.clone();
    return;
  }
  kept_gradient_.clear();
  for (const auto& [name, gradient] : local_gradients)
    kept_gradient_.emplace_back(name, (ranks_.parts ? ranks_.parts->gather(name, gradient) : gradient).clone());
}

void Learner::gather_parameters() {
  if (!options_.shares_optimizer) return;
  std::vector<std::unique_ptr<Pending>> sent;
  for (const auto& group : groups_) {
    const FlatOptimizer& optimizer = group->optimizer;
    for (int64_t b = 0; group->shards.communicates() && b < std::ssize(optimizer.layout().buckets); ++b)
      if (!optimizer.is_gathered(b))
        sent.push_back(group->shards.start_all_gather(optimizer.parameter_slice(b), optimizer.parameters(b),
                                                      name_ + " parameters"));
  }
  for (const auto& pending : sent) pending->wait();
}

}  // namespace roll
