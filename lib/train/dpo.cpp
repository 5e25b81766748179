#include "train/dpo.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "dist/merged_metrics.h"
#include "loss/dpo.h"
#include "step/step_settings.h"
#include "train/dpo_data.h"
#include "train/row_training.h"

namespace roll {

namespace {

using PairLoss =
    std::function<LossResult(const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts)>;

PairLoss make_pair_loss(const DpoConfig& config) {
  const DpoSettings settings{.beta = config.beta, .ipo = config.ipo, .label_smoothing = config.label_smoothing};
  return [settings](const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts) {
    return dpo_loss({.axis = e.axis(),
                     .log_probs = log_probs,
                     .ref_log_probs = e.ref_log_probs,
                     .response_mask = e.response_mask()},
                    counts, settings);
  };
}

Metrics measure_pairs(const RlStep& step, Communicator& dp, const PairLoss& loss) {
  const auto counts = count_masks(step.experience, {"response_mask"}, step.facts.num_sequences() / 2, dp);
  const at::NoGradGuard no_grad;
  Metrics local_metrics, metrics;
  if (step.experience.num_sequences() > 0)
    local_metrics = all_metrics(loss(step.experience, step.experience.old_log_probs, counts));
  for (const auto& [name, value] : merge_over_ranks(local_metrics, dp).values())
    metrics.add(name == "dpo/loss" ? "val/loss" : "val/" + name, value);
  return metrics;
}

RowMethod load_dpo(const DpoConfig& config, const RunStart& start, at::Device device, Log& log) {
  const RoleSource policy = trained_source(config, start, device);
  const Tokenizer tokenizer = Tokenizer::load(policy.folder);
  TrainedRows<PairRow> rows = load_and_log_rows<PairRow>(
      config.trained.data_args, config.validation.data_args, config.sequence_length,
      [&](const DataArgs& data, Progress* progress) {
        return load_pair_rows(config, data, policy.folder, tokenizer, progress);
      },
      log);
  StepSettings settings =
      row_settings(config, {.mask = "response_mask", .counted_masks = {"response_mask"}, .sequences_per_row = 2},
                   rows.training.size());
  const RolePass reference{kReferenceRole, Finding::kReference, batch_rule(config.reference, Stage::kForward)};
  settings.places.roles[kReferenceRole] = role_place(config.reference);
  settings.forwards.passes = {reference};
  const PairLoss loss = make_pair_loss(config);
  return {.config = config,
          .algorithm = config.ipo ? "IPO (Azar et al. 2023)" : "DPO (Rafailov et al. 2023)",
          .shown = {{"right preferences", "rewards/accuracies"}, {"margin", "rewards/margins"}},
          .settings = std::move(settings),
          .sources = {{{kPolicyRole, policy}, {kReferenceRole, role_source(config.reference, device)}},
                      config.sequence_length},
          .rows = row_steps(std::move(rows.training), make_step),
          .validation = row_steps(std::move(rows.validation), make_step),
          .loss = [loss](const Experience& e, const Computed& computed,
                         const MiniBatchCounts& counts) { return loss(e, computed.policy.log_probs, counts); },
          .validation_passes = {reference, policy_pass(config)},
          .measure = [loss](const RlStep& step, Mesh& mesh) { return measure_pairs(step, mesh.dp(), loss); }};
}

}  // namespace

void run_dpo(const DpoConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  const auto load = [&](const RunStart& start) { return load_dpo(config, start, device, log); };
  run_rows(plan_rows(config, flags, ranks, log), load, device, ranks, log);
}

}  // namespace roll
