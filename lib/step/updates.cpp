#include "step/updates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "dist/merged_metrics.h"
#include "ops/dropout.h"
#include "pipeline/stage.h"
#include "step/roles.h"
#include "step/step_metrics.h"

namespace roll {

namespace {

/// This rank's part of a mini-batch, in the order of micro-batches.
struct OwnPart {
  std::vector<int64_t> sequences;  // indices in `here`
  Partition micro_batches;         // indices in `sequences`
};

/// `places`: [sequence of the step] index in `here`, or -1. `micro_batches`: indices in `mini_batch`.
OwnPart flat_shard(const std::vector<int64_t>& places, const std::vector<int64_t>& mini_batch,
                   const Partition& micro_batches) {
  OwnPart own;
  for (const auto& micro_batch : micro_batches) {
    own.micro_batches.emplace_back();
    for (const int64_t i : micro_batch) {
      ROLL_CHECK(places[mini_batch[i]] >= 0, "what a rank computes is there");
      own.micro_batches.back().push_back(std::ssize(own.sequences));
      own.sequences.push_back(places[mini_batch[i]]);
    }
  }
  return own;
}

std::vector<int64_t> places_of(const Batch& here, int64_t num_sequences) {
  std::vector<int64_t> places(num_sequences, -1);
  for (int64_t b = 0; b < here.num_sequences(); ++b) places.at(here.sequence_index[b]) = b;
  return places;
}

/// Returns the number of non-empty micro-batches: M in loss.md.
int64_t num_filled(const std::vector<Partition>& plans) {
  int64_t filled = 0;
  for (const auto& plan : plans)
    for (const auto& micro_batch : plan) filled += !micro_batch.empty();
  return filled;
}

/// Averages over updates that were made; a skipped one would make all means NaN.
void add_update_metrics(const std::string& prefix, const UpdateResult& result, const Metrics& of_loss, Metrics& over) {
  over.add(prefix + "/lr", result.lr);
  if (result.skipped) return over.add(prefix + "/skipped_updates@sum", 1);
  over.add(prefix + "/grad_norm", result.grad_norm);
  over.add(prefix + "/grad_clip_coef", result.clip_coef);
  for (const auto& [name, value] : of_loss.values()) over.add(name + "@mean", value);
}

void log_empty(const UpdatePlan& plan, size_t num_sequences, const Communicator& ranks) {
  if (plan.phase.log && ranks.is_first())
    plan.phase.log->warn("{}: no token of a mini-batch of {} sequences is in {}; this update is left out",
                         plan.settings.prefix, num_sequences, plan.settings.loss_mask);
}

void log_skipped(const UpdatePlan& plan, size_t mini_batch, const UpdateResult& result, const Learner& learner,
                 const Communicator& ranks) {
  const std::string& prefix = plan.settings.prefix;
  const int64_t most = plan.settings.max_nonfinite_updates;
  if (plan.phase.log && ranks.is_first())
    plan.phase.log->warn("step {}: {}: mini-batch {} is skipped: its loss is {}, its gradient's norm {}; it is from {}",
                         plan.step, prefix, plan.num_done + static_cast<int64_t>(mini_batch) + 1, result.loss,
                         result.grad_norm, plan.source ? plan.source() : "");
  if (learner.num_skipped_in_a_row() <= most) return;
  throw system_error(
      "step {}: {}: {} updates in a row whose loss or gradient is not finite, and max_nonfinite_updates = {}; lower "
      "the learning rate, or look at what was trained on",
      plan.step, prefix, learner.num_skipped_in_a_row(), most);
}

/// Values of an update that its micro-batches need.
struct OfUpdate {
  double token_weight, loss_scale;
  int64_t sharing;  // alignment for prefix sharing: sharing_alignment()
  uint32_t number;
};

/// Returns this rank's micro-batches of an update.
Partition own_micro_batches(const std::vector<Partition>& plans, const UpdatePlan& plan, const Mesh& mesh) {
  Partition own = plans[mesh.place().dp];
  // Drop empty micro-batches, which only match other ranks' counts, if no rank waits for them.
  if (!plan.empty_pass) std::erase_if(own, [](const auto& micro_batch) { return micro_batch.empty(); });
  return own;
}

/// Merges the micro-batches' metrics. **Collective**.
Metrics merge_over_mesh(const Metrics& of_update, Mesh& mesh) {
  Metrics merged = merge_over_ranks(of_update, mesh.dp());
  if (mesh.shape().pp > 1) merged = merge_over_ranks(merged, mesh.pp());  // only the last stage has metrics
  return merged;
}

/// Adds the times that ranks waited for each other. **Collective**.
void add_waits(const std::string& prefix, const UpdateResult& result, const Learner& learner, int64_t num_micro_batches,
               Mesh& mesh, Metrics& over) {
  add_wait_metric(prefix, result.compute_s, mesh.world(), over);
  if (const PipelineStage* const stage = learner.stage())
    add_pipeline_metrics(prefix, stage->shape(), num_micro_batches, result, mesh, over);
  if (mesh.shards().size() > 1) add_reduction_metrics(prefix, learner.trace(), over);
}

/// Returns the micro-batch of these sequences on the plan's device, with the plan's prefix sharing and dropout.
/// `counts`: of the whole mini-batch.
Experience micro_batch_of(const Experience& mini_batch, const std::vector<int64_t>& sequences, const UpdatePlan& plan,
                          const OfUpdate& update, const MiniBatchCounts& counts, const ModelParallel& parallel) {
  Experience part = select(mini_batch, sequences);
  PackedTokens& tokens = part.tokens;
  tokens.token_weight = update.token_weight;
  tokens.loss_scale = update.loss_scale;
  if (update.sharing > 0) tokens.tree = prefix_tree(tokens, update.sharing);
  if (const auto& seed = plan.settings.dropout_seed; seed && !plan.device.is_meta())
    tokens.dropout_keys = dropout_keys(tokens.ids, tokens.contexts(), *seed, update.number);
  if (!plan.device.is_cpu() && !plan.device.is_meta()) {
    add_weights(part, plan.settings.weights, counts);
    add_factors(part, plan.settings.needs_signs);
  }
  return to_device(std::move(part), plan.device, parallel);
}

}  // namespace

MiniBatchCounts count_masks(const Batch& mini_batch, const std::vector<std::string>& keys, int64_t num_groups) {
  MiniBatchCounts counts;
  for (const auto& key : keys) {
    const auto found = mini_batch.masks.find(key);
    if (found == mini_batch.masks.end()) {
      std::vector<std::string> known;
      for (const auto& [name, mask] : mini_batch.masks) known.push_back(name);
      throw user_error("loss_mask_keys = {}: the batch has no such mask; it has {}{}", key, fmt::join(known, ", "),
                       did_you_mean(key, known));
    }
    counts.set(key, local_counts(found->second, mini_batch.axis(), num_groups));
  }
  return counts;
}

MiniBatchCounts count_masks(const Batch& own, const std::vector<std::string>& keys, int64_t num_groups,
                            Communicator& ranks) {
  MiniBatchCounts counts = count_masks(own, keys, num_groups);
  if (!ranks.communicates()) return counts;
  at::Tensor numbers = at::empty({std::ssize(keys), 2 + num_groups}, at::kLong);
  for (int64_t k = 0; k < std::ssize(keys); ++k) {
    const MaskCounts& of_mask = counts.at(keys[k]);
    auto* row = numbers[k].mutable_data_ptr<int64_t>();
    row[0] = of_mask.batch_num_tokens;
    row[1] = of_mask.global_valid_samples;
    std::ranges::copy(of_mask.prompt_tokens, row + 2);
  }
  ranks.all_reduce_sum(numbers, "counts of a mini-batch");
  for (int64_t k = 0; k < std::ssize(keys); ++k) {
    const auto* row = numbers[k].const_data_ptr<int64_t>();
    counts.set(
        keys[k],
        {.batch_num_tokens = row[0], .global_valid_samples = row[1], .prompt_tokens = {row + 2, row + 2 + num_groups}});
  }
  return counts;
}

Metrics run_updates(const Experience& here, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
                    const MicroBatchLoss& micro_batch_loss, const Prepare& prepare) {
  const UpdateSettings& settings = plan.settings;
  const std::string& prefix = settings.prefix;
  mesh.world().traffic().set_phase("train_" + prefix);
  const ModelParallel parallel = model_parallel(mesh);
  std::vector<std::vector<Partition>> all_plans;
  const int64_t num_chunks = learner.stage() ? learner.stage()->shape().num_chunks : 1;
  int64_t num_micro_batches = 0;  // counted once per chunk on this rank
  for (const auto& sequences : plan.mini_batches) {
    all_plans.push_back(plan_ranks(plan.sizes.select(sequences), plan.rule, mesh.dp_size()));
    num_micro_batches += num_chunks * std::ssize(own_micro_batches(all_plans.back(), plan, mesh));
  }
  std::optional<Progress> progress;
  if (plan.phase.log) progress.emplace(*plan.phase.log, plan.phase.name, num_micro_batches, "micro-batches");
  const std::vector<int64_t> places = places_of(here, plan.sizes.num_sequences());
  Metrics over_updates;
  for (size_t update = 0; update < plan.mini_batches.size(); ++update) {
    const auto& sequences = plan.mini_batches[update];
    const auto& plans = all_plans[update];
    const OwnPart own = flat_shard(places, sequences, own_micro_batches(plans, plan, mesh));
    Experience mini_batch = select(here, own.sequences);
    if (prepare) prepare(mini_batch, sequences);
    const auto counts = count_masks(mini_batch, settings.counted_masks, plan.num_groups, mesh.dp());
    const Partition& local = own.micro_batches;
    const SequenceSizes sizes = plan.sizes.select(sequences);
    const auto num_tokens = static_cast<double>(std::reduce(sizes.lengths.begin(), sizes.lengths.end()));
    const double scale = loss_scale(settings.apply_loss_scale, num_filled(plans));
    const OfUpdate told = {.token_weight = 1 / num_tokens,
                           .loss_scale = scale,
                           .sharing = sharing_alignment(sizes, plan.rule),
                           .number = static_cast<uint32_t>(learner.num_updates())};
    if (counts.at(settings.loss_mask).batch_num_tokens == 0) {
      learner.skip_update();
      log_empty(plan, sequences.size(), mesh.world());
      over_updates.add(prefix + "/empty_mini_batches@sum", 1);
      continue;
    }
    Metrics of_update;
    std::vector<Deferred> deferred;
    const auto result = learner.update(static_cast<int64_t>(local.size()), [&](int64_t k) -> MicroLoss {
      if (progress) progress->advance();
      if (local[k].empty()) return plan.empty_pass();
      LossResult loss = micro_batch_loss(micro_batch_of(mini_batch, local[k], plan, told, counts, parallel), counts);
      of_update.merge(loss.metrics);
      std::vector<at::Tensor> numbers;
      for (Deferred& later : loss.deferred) numbers.push_back(std::exchange(later.numbers, {}));
      std::ranges::move(loss.deferred, std::back_inserter(deferred));
      return {scale == 1.0 || !loss.loss.defined() ? loss.loss : loss.loss * scale, numbers};
    });
    if (plan.behind_update) plan.behind_update(!result.skipped);
    for (size_t i = 0; i < deferred.size(); ++i) deferred[i].add(result.numbers[i], of_update);
    add_update_metrics(prefix, result, merge_over_mesh(of_update, mesh), over_updates);
    if (result.skipped) log_skipped(plan, update, result, learner, mesh.world());
    add_packing_metrics(prefix, batch_stats(plans, sizes, plan.rule.packing), over_updates);
    add_waits(prefix, result, learner, std::ssize(local), mesh, over_updates);
  }
  over_updates.add("memory/" + prefix + "/optimizer_bytes", static_cast<double>(learner.optimizer_bytes()));
  return over_updates;
}

}  // namespace roll
