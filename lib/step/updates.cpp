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
struct RankPart {
  std::vector<int64_t> sequences;  // indices in the experience
  Partition micro_batches;         // indices in `sequences`
};

/// `local_index`: [sequence of the step] index in the experience, or -1. `micro_batches`: indices in `mini_batch`.
RankPart make_rank_part(const std::vector<int64_t>& local_index, const std::vector<int64_t>& mini_batch,
                        const Partition& micro_batches) {
  RankPart part;
  for (const auto& micro_batch : micro_batches) {
    part.micro_batches.emplace_back();
    for (const int64_t i : micro_batch) {
      ROLL_CHECK(local_index[mini_batch[i]] >= 0, "a rank holds the sequences that it computes");
      part.micro_batches.back().push_back(std::ssize(part.sequences));
      part.sequences.push_back(local_index[mini_batch[i]]);
    }
  }
  return part;
}

std::vector<int64_t> find_local_indices(const Batch& experience, int64_t num_sequences) {
  std::vector<int64_t> indices(num_sequences, -1);
  for (int64_t b = 0; b < experience.num_sequences(); ++b) indices.at(experience.sequence_index[b]) = b;
  return indices;
}

/// Returns the number of non-empty micro-batches: M in loss.md.
int64_t num_filled(const std::vector<Partition>& plans) {
  int64_t filled = 0;
  for (const auto& plan : plans)
    for (const auto& micro_batch : plan) filled += !micro_batch.empty();
  return filled;
}

/// Averages over updates that were made; a skipped one would make all means NaN.
void add_update_metrics(const std::string& prefix, const UpdateResult& result, const Metrics& loss_metrics,
                        Metrics& metrics) {
  metrics.add(prefix + "/lr", result.lr);
  if (result.skipped) return metrics.add(prefix + "/skipped_updates@sum", 1);
  metrics.add(prefix + "/grad_norm", result.grad_norm);
  metrics.add(prefix + "/grad_clip_coef", result.clip_coef);
  if (result.mtp_grad_norm) metrics.add(prefix + "/mtp/grad_norm", *result.mtp_grad_norm);
  for (const auto& [name, value] : loss_metrics.values()) metrics.add(name + "@mean", value);
}

void log_empty(const UpdatePlan& plan, size_t num_sequences, const Communicator& ranks) {
  if (plan.phase.log && ranks.is_first())
    plan.phase.log->warn("{}: a mini-batch of {} sequences has no token in the mask {}; this update is left out",
                         plan.settings.prefix, num_sequences, plan.settings.loss_mask);
}

void log_skipped(const UpdatePlan& plan, size_t mini_batch, const UpdateResult& result, const Learner& learner,
                 const Communicator& ranks) {
  const std::string& prefix = plan.settings.prefix;
  const int64_t most = plan.settings.max_nonfinite_updates;
  if (plan.phase.log && ranks.is_first())
    plan.phase.log->warn(
        "step {}: {}: mini-batch {} is skipped: its loss is {}, its gradient norm is {}; its "
        "sequences are in {}",
        plan.step, prefix, plan.num_done + static_cast<int64_t>(mini_batch) + 1, result.loss, result.grad_norm,
        plan.source ? plan.source() : "");
  if (learner.num_skipped_in_a_row() <= most) return;
  throw system_error(
      "step {}: {}: {} updates in a row had a loss or gradient that is not finite: must be at most "
      "max_nonfinite_updates = {}; lower the learning rate, or check the training data",
      plan.step, prefix, learner.num_skipped_in_a_row(), most);
}

/// Returns the names of all masks to count.
std::vector<std::string> masks_to_count(const UpdateSettings& settings) {
  std::vector<std::string> masks = settings.counted_masks;
  if (std::ranges::find(masks, settings.loss_mask) == masks.end()) masks.push_back(settings.loss_mask);
  return masks;
}

/// Values of an update that its micro-batches need.
struct UpdateValues {
  double token_weight, loss_scale;
  int64_t sharing;  // alignment for prefix sharing: sharing_alignment()
  uint32_t number;
};

/// Returns this rank's micro-batches of an update.
Partition rank_micro_batches(const std::vector<Partition>& plans, const UpdatePlan& plan, const Mesh& mesh) {
  Partition micro_batches = plans[mesh.place().dp];
  // Drop empty micro-batches, which only match other ranks' counts, if no rank waits for them.
  if (!plan.empty_pass) std::erase_if(micro_batches, [](const auto& micro_batch) { return micro_batch.empty(); });
  return micro_batches;
}

/// Merges the micro-batches' metrics. **Collective**.
Metrics merge_over_mesh(const Metrics& update_metrics, Mesh& mesh) {
  Metrics merged = merge_over_ranks(update_metrics, mesh.dp());
  if (mesh.shape().pp > 1) merged = merge_over_ranks(merged, mesh.pp());  // only the last stage has metrics
  return merged;
}

/// Adds the times that ranks waited for each other. **Collective**.
void add_waits(const std::string& prefix, const UpdateResult& result, const Learner& learner, int64_t num_micro_batches,
               Mesh& mesh, Metrics& metrics) {
  add_wait_metric(prefix, result.compute_s, mesh.world(), metrics);
  if (const PipelineStage* const stage = learner.stage())
    add_pipeline_metrics(prefix, stage->shape(), num_micro_batches, result, mesh, metrics);
  if (mesh.shards().size() > 1) add_reduction_metrics(prefix, learner.trace(), metrics);
}

/// Returns the micro-batch of these sequences on the plan's device, with the plan's prefix sharing and dropout.
/// `counts`: of the whole mini-batch.
Experience make_micro_batch(const Experience& mini_batch, const std::vector<int64_t>& sequences, const UpdatePlan& plan,
                            const UpdateValues& update, const MiniBatchCounts& counts, const ModelParallel& parallel) {
  Experience part = select(mini_batch, sequences);
  PackedTokens& tokens = part.tokens;
  tokens.token_weight = update.token_weight;
  tokens.loss_scale = update.loss_scale;
  if (update.sharing > 0) tokens.tree = prefix_tree(tokens, update.sharing, plan.rule.unshared);
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

MiniBatchCounts count_masks(const Batch& rank_part, const std::vector<std::string>& keys, int64_t num_groups,
                            Communicator& ranks) {
  MiniBatchCounts counts = count_masks(rank_part, keys, num_groups);
  if (!ranks.communicates()) return counts;
  at::Tensor numbers = at::empty({std::ssize(keys), 2 + num_groups}, at::kLong);
  for (int64_t k = 0; k < std::ssize(keys); ++k) {
    const MaskCounts& mask_counts = counts.at(keys[k]);
    auto* row = numbers[k].mutable_data_ptr<int64_t>();
    row[0] = mask_counts.batch_num_tokens;
    row[1] = mask_counts.global_valid_samples;
    std::ranges::copy(mask_counts.prompt_tokens, row + 2);
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

Metrics run_updates(const Experience& experience, const UpdatePlan& plan, Learner& learner, Mesh& mesh,
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
    num_micro_batches += num_chunks * std::ssize(rank_micro_batches(all_plans.back(), plan, mesh));
  }
  std::optional<Progress> progress;
  if (plan.phase.log) progress.emplace(*plan.phase.log, plan.phase.name, num_micro_batches, "micro-batches");
  const std::vector<int64_t> local_index = find_local_indices(experience, plan.sizes.num_sequences());
  const std::vector<std::string> counted_masks = masks_to_count(settings);
  Metrics over_updates;
  for (size_t update = 0; update < plan.mini_batches.size(); ++update) {
    const auto& sequences = plan.mini_batches[update];
    const auto& plans = all_plans[update];
    const RankPart part = make_rank_part(local_index, sequences, rank_micro_batches(plans, plan, mesh));
    Experience mini_batch = select(experience, part.sequences);
    if (prepare) prepare(mini_batch, sequences);
    const auto counts = count_masks(mini_batch, counted_masks, plan.num_groups, mesh.dp());
    const SequenceSizes sizes = plan.sizes.select(sequences);
    const auto num_tokens = static_cast<double>(std::reduce(sizes.lengths.begin(), sizes.lengths.end()));
    const UpdateValues values = {.token_weight = 1 / num_tokens,
                                 .loss_scale = loss_scale(settings.apply_loss_scale, num_filled(plans)),
                                 .sharing = sharing_alignment(sizes, plan.rule),
                                 .number = static_cast<uint32_t>(learner.num_updates())};
    if (counts.at(settings.loss_mask).batch_num_tokens == 0) {
      learner.skip_update();
      log_empty(plan, sequences.size(), mesh.world());
      over_updates.add(prefix + "/empty_mini_batches@sum", 1);
      continue;
    }
    Metrics update_metrics;
    std::vector<Deferred> deferred;
    const auto result = learner.update(static_cast<int64_t>(part.micro_batches.size()), [&](int64_t k) -> MicroLoss {
      if (progress) progress->advance();
      if (part.micro_batches[k].empty()) return plan.empty_pass();
      LossResult loss =
          micro_batch_loss(make_micro_batch(mini_batch, part.micro_batches[k], plan, values, counts, parallel), counts);
      update_metrics.merge(loss.metrics);
      std::vector<at::Tensor> numbers;
      for (Deferred& pending : loss.deferred) numbers.push_back(std::exchange(pending.numbers, {}));
      std::ranges::move(loss.deferred, std::back_inserter(deferred));
      return {values.loss_scale == 1.0 || !loss.loss.defined() ? loss.loss : loss.loss * values.loss_scale, numbers};
    });
    if (plan.after_update) plan.after_update(!result.skipped);
    for (size_t i = 0; i < deferred.size(); ++i) deferred[i].add(result.numbers[i], update_metrics);
    add_update_metrics(prefix, result, merge_over_mesh(update_metrics, mesh), over_updates);
    if (result.skipped) log_skipped(plan, update, result, learner, mesh.world());
    add_packing_metrics(prefix, batch_stats(plans, shareable(sizes, plan.rule), plan.rule.packing), over_updates);
    add_waits(prefix, result, learner, std::ssize(part.micro_batches), mesh, over_updates);
  }
  over_updates.add("memory/" + prefix + "/optimizer_bytes", static_cast<double>(learner.optimizer_bytes()));
  return over_updates;
}

}  // namespace roll
