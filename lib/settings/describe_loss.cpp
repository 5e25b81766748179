#include "settings/describe_loss.h"

#include <fmt/format.h>

#include "loss/aggregate.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

std::string reduction(AggMode mode, const std::string& mask, const std::string& update, double divisor) {
  const std::string per_sequence = fmt::format("each sequence by its {} tokens", mask);
  const std::string sequences = fmt::format("by the sequences with one in {}", update);
  switch (mode) {
    case AggMode::kTokenMean:
      return fmt::format("by all {} tokens of {}", mask, update);
    case AggMode::kSeqMeanTokenSum:
      return fmt::format("sums over {} tokens, {}", mask, sequences);
    case AggMode::kSeqMeanTokenMean:
      return fmt::format("{}, then {}", per_sequence, sequences);
    case AggMode::kSeqMeanTokenSumNorm:
      return fmt::format("sums over {} tokens by {}", mask, divisor);
    case AggMode::kPromptMean:
      return fmt::format("each prompt by the {} tokens of all its responses, then by the prompts with one in {}", mask,
                         update);
    case AggMode::kConstant:
      return fmt::format("sums over {} tokens by {}, then {}", mask, divisor, sequences);
  }
  return "";
}

std::string role_loss(const std::string& role, AggMode mode, const std::string& mask, const WorkerConfig& worker,
                      const LossModes& modes) {
  const auto update = fmt::format("a {}-sequence update", worker.mini_batch());
  if (worker.loss_func)
    return fmt::format("{} loss: {} of {}, over {}; `roll check-loss` checks its normalisation", role,
                       worker.loss_func.name, worker.loss_func.library, update);
  if (worker.pg_loss_reducer)
    return fmt::format("{} loss: policy term reduced by {} of {}, over {}; `roll check-loss` checks its normalisation",
                       role, worker.pg_loss_reducer.name, worker.pg_loss_reducer.library, update);
  const std::string scale =
      worker.apply_loss_scale ? "" : "; apply_loss_scale false: and by the number of micro-batches";
  return fmt::format("{} loss: {}: {}{}", role, enum_name(mode), reduction(mode, mask, update, modes.divisor), scale);
}

}  // namespace

std::string describe_loss(const Config& config) {
  const LossModes modes = loss_modes(config.loss);
  std::vector<std::string> lines;
  for (const TrainableRole& row : trainable_roles())
    if ((config.*row.is_used)())
      lines.push_back(role_loss(row.metrics, row.has_lm_head ? modes.policy : modes.value, row.loss_mask,
                                config.*row.worker, modes));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string describe_loss(const DpoConfig& config) {
  const std::string form = config.ipo ? "IPO" : config.label_smoothing > 0 ? "cDPO" : "DPO";
  return fmt::format("dpo loss: {}: the mean over the pairs of a {}-pair update", form, config.trained.mini_batch());
}

std::string describe_loss(const DistillConfig& config) {
  const DivergenceArgs& args = config.divergence;
  const std::string compared_tokens =
      config.logits_topk > 0 ? fmt::format("its {} likeliest tokens", config.logits_topk) : "all tokens";
  const LossModes modes = loss_modes(config.loss);
  return fmt::format("distill loss: {:.3g} x {} to the teacher over {} + {:.3g} x cross-entropy; {}: {}",
                     args.distill_loss_weight, enum_name(args.kd_objective), compared_tokens,
                     1 - args.distill_loss_weight, enum_name(modes.policy),
                     reduction(modes.policy, "labels_mask",
                               fmt::format("a {}-sequence update", config.trained.mini_batch()), modes.divisor));
}

std::string describe_loss(const RowConfig& config) {
  const LossModes modes = loss_modes(config.loss);
  return role_loss("sft", modes.policy, "labels_mask", config.trained, modes);
}

}  // namespace roll
