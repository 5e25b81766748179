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

using LossOfPairs =
    std::function<LossResult(const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts)>;

LossOfPairs loss_of_pairs(const DpoConfig& config) {
  const DpoSettings settings{.beta = config.beta, .ipo = config.ipo, .label_smoothing = config.label_smoothing};
  return [settings](const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts) {
    return dpo_loss({.axis = e.axis(),
                     .log_probs = log_probs,
                     .ref_log_probs = e.ref_log_probs,
                     .response_mask = e.response_mask()},
                    counts, settings);
  };
}

Metrics measure_pairs(const RlStep& step, Communicator& dp, const LossOfPairs& loss) {
  const auto counts = count_masks(step.here, {"response_mask"}, step.facts.num_sequences() / 2, dp);
  const at::NoGradGuard no_grad;
  Metrics of_here, metrics;
  if (step.here.num_sequences() > 0) of_here = all_metrics(loss(step.here, step.here.old_log_probs, counts));
  for (const auto& [name, value] : merge_over_ranks(of_here, dp).values())
    metrics.add(name == "dpo/loss" ? "val/loss" : "val/" + name, value);
  return metrics;
}

RowMethod load_dpo(const DpoConfig& config, const RunStart& start, at::Device device, Log& log) {
  const RoleSource policy = trained_source(config, start, device);
  const Tokenizer tokenizer = Tokenizer::load(policy.folder);
  TrainedRows<PairRow> rows = load_told<PairRow>(
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
  const LossOfPairs loss = loss_of_pairs(config);
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
