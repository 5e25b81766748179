#include "preview/pack_preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/hub_cache.h"
#include "model/known_shapes.h"
#include "preview/budget_table.h"
#include "settings/loading.h"
#include "settings/placement.h"
#include "settings/training_plan.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"

namespace roll {

namespace {

/// A training or forward pass of a role over the sequences of a step.
struct Pass {
  Stage stage;
  std::string role;          // key of the worker in the configuration
  std::string metrics_name;  // name in the metrics, see packing_prefix()
  const WorkerConfig& worker;
  Workload workload;
};

std::vector<Pass> list_passes(const Config& config, const RoleShapes& shapes) {
  const auto workload = [&](const std::string& role) {
    return shapes.empty() ? Workload() : make_workload(shapes.at(role));
  };
  const TrainingPlan plan = plan_training(config);
  std::vector<Pass> passes;
  for (auto update = plan.updates.rbegin(); update != plan.updates.rend(); ++update)  // clang 14 lacks views::reverse
    passes.push_back({Stage::kTrain, update->role, update->metrics, *update->worker, workload(update->role)});
  for (const PlannedPass& pass : plan.passes)
    passes.push_back({Stage::kForward, pass.role, pass.phase(), *pass.worker, workload(pass.role)});
  return passes;
}

std::string algorithm_name(const BatchRule& rule) {
  if (!rule.is_packed) return fmt::format("{} sequences", rule.num_sequences);
  return std::string(enum_name(rule.packing.algorithm));
}

/// A packing rule, named as in the report.
struct NamedRule {
  std::string name;
  BatchRule rule;
};

/// Returns the configured rule and, for comparison, the other algorithm and the other choice of prompt sharing.
std::vector<NamedRule> make_rules(const BatchRule& configured, const LengthSource& source) {
  std::vector<NamedRule> rules = {{algorithm_name(configured), configured}};
  if (configured.is_packed) {
    BatchRule other = configured;
    const bool balances = configured.packing.algorithm == PackAlgorithm::kLoadBalance;
    other.packing.algorithm = balances ? PackAlgorithm::kNone : PackAlgorithm::kLoadBalance;
    rules.push_back({algorithm_name(other), other});
  }
  const auto may_share = [&](const StepLengths& step) {
    BatchRule automatic = configured;
    automatic.packing.share_prompts = SharePrompts::kAuto;
    return sharing_alignment(step.sizes(), automatic) > 0;
  };
  if (!std::ranges::any_of(source.steps, may_share)) return rules;
  BatchRule other = configured;
  const bool shares = configured.packing.share_prompts != SharePrompts::kFalse;
  other.packing.share_prompts = shares ? SharePrompts::kFalse : SharePrompts::kTrue;
  rules.push_back({shares ? "whole prompts" : "shared prompts", other});
  return rules;
}

/// Returns a key that is equal for passes with equal plans.
std::string plan_key(const Pass& pass, const BatchRule& rule) {
  const PackOptions& packing = rule.packing;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", pass.worker.strategy_args.strategy_config.model_ranks(),
                     pass.stage == Stage::kTrain, rule.is_packed, rule.num_sequences, algorithm_name(rule),
                     packing.budget, packing.alignment, packing.min_num_micro_batches,
                     static_cast<int>(packing.share_prompts), packing.workload.linear, packing.workload.attention,
                     pass.stage == Stage::kTrain ? pass.worker.mini_batch_per_rank() : 0, rule.unshared);
}

Partition list_batches(const Config& config, const Pass& pass, const StepLengths& step) {
  if (pass.stage == Stage::kTrain)
    return step_mini_batches(epoch_rule(config, pass.worker), std::ssize(step.lengths), step.step);
  return {first_numbers(std::ssize(step.lengths))};
}

BatchReport batch_report(const SequenceSizes& sizes, const std::vector<NamedRule>& rules, int64_t num_ranks) {
  BatchReport batch;
  const BatchRule& configured = rules.front().rule;
  batch.padded_work = padded_work(sizes.lengths, configured.num_sequences, configured.packing.workload);
  for (const auto& [name, rule] : rules)
    batch.plans.push_back(batch_stats(plan_ranks(sizes, rule, num_ranks), shareable(sizes, rule), rule.packing));
  return batch;
}

void add_step(StageReport& report, const Config& config, const Pass& pass, const std::vector<NamedRule>& rules,
              const StepLengths& step) {
  const SequenceSizes sizes = step.sizes();
  int64_t number = 0;
  for (const auto& indices : list_batches(config, pass, step)) {
    report.batches.push_back(batch_report(sizes.select(indices), rules, pass.worker.data_ranks()));
    report.batches.back().step = step.step;
    report.batches.back().number = ++number;
  }
}

std::string budget_key(const Pass& pass) {
  const bool trains = pass.stage == Stage::kTrain;
  if (pass.worker.packing.use_sequence_packing)
    return fmt::format("sequence_packing_args.max_packed_sequence_length_{}", trains ? "train" : "forward");
  return fmt::format("max_tokens_per_microbatch_in_{}", trains ? "train" : "infer");
}

StageReport stage_report(const Config& config, const Pass& pass, const std::vector<NamedRule>& rules,
                         const LengthSource& source) {
  const BatchRule& rule = rules.front().rule;
  StageReport report{.trains = pass.stage == Stage::kTrain,
                     .budget = rule.packing.budget,
                     .alignment = rule.packing.alignment,
                     .padded_size = rule.num_sequences};
  for (const auto& named_rule : rules) report.algorithms.push_back(named_rule.name);
  for (const auto& step : source.steps) try {
      add_step(report, config, pass, rules, step);
    } catch (const UserError& e) {
      const bool is_budget = rule.is_packed && std::ranges::max(step.lengths) > rule.packing.budget;
      const std::string key =
          is_budget ? fmt::format("{}.{} = {}: ", pass.role, budget_key(pass), rule.packing.budget) : "";
      throw user_error("{}{} of {}, step {}: {}", key, report.trains ? "training" : "forward", pass.role, step.step,
                       e.what());
    }
  return report;
}

/// Adds the metrics that training reports for this pass, per step.
void add_metrics(StageReport& report, const std::string& metrics_name) {
  std::map<int64_t, Metrics> steps;
  for (const auto& batch : report.batches) add_packing_metrics(metrics_name, batch.plans.front(), steps[batch.step]);
  const bool is_new = report.metrics.empty();
  for (const auto& step : steps) {
    if (is_new) report.metrics.push_back({step.first, {}});
    auto& values = std::find_if(report.metrics.begin(), report.metrics.end(), [&](const auto& m) {
                     return m.step == step.first;
                   })->values;
    for (auto& value : step.second.values()) values.push_back(std::move(value));
  }
}

}  // namespace

RoleSpecs role_specs(const Config& config, const std::string& arch) {
  if (!arch.empty()) {
    RoleSpecs arch_specs{.notes = {fmt::format("FLOPs and memory are estimated for --arch {}", arch)}};
    for (const auto& [role, worker] : learning_roles(config))
      arch_specs.shapes.emplace(role, with_trained_parts(known_shape(arch), role, *worker));
    return arch_specs;
  }
  RoleSpecs specs;
  std::set<std::string> notes, unknown;
  for (const auto& [role, worker] : learning_roles(config)) {
    const std::string& name = worker->model_args.model_name_or_path.value();
    if (const auto folder = find_model_folder(name)) {
      specs.shapes.emplace(role, with_trained_parts(known_shape(folder->string()), role, *worker));
    } else if (const KnownShape* known = find_known_shape(name)) {
      specs.shapes.emplace(role, with_trained_parts(known->spec, role, *worker));
      notes.insert(
          fmt::format("FLOPs and memory are estimated for {}, a known shape, because {} is not on this machine",
                      known->name, name));
    } else {
      unknown.insert(name);
    }
  }
  if (!unknown.empty()) {
    const std::string reason = fmt::format("{} {} not on this machine, and no known shape has that name",
                                           fmt::join(unknown, ", "), unknown.size() == 1 ? "is" : "are");
    return {.notes = {fmt::format("work is counted in tokens, not in FLOPs, and memory is not estimated: {}; give a "
                                  "shape, for example --arch Qwen2.5-7B",
                                  reason)},
            .why_unknown = reason};
  }
  specs.notes.assign(notes.begin(), notes.end());
  return specs;
}

PackReport pack_preview(const Config& config, const RoleSpecs& specs, const LengthSource& source,
                        std::optional<double> memory_bytes) {
  PackReport report;
  report.source = source.text;
  report.notes = source.notes;
  report.notes.insert(report.notes.end(), specs.notes.begin(), specs.notes.end());
  report.counts_flops = specs.are_known();
  report.num_ranks = config.actor_train.data_ranks();
  report.num_steps = std::ssize(source.steps);
  for (const auto& step : source.steps)
    report.lengths.insert(report.lengths.end(), step.lengths.begin(), step.lengths.end());
  std::vector<std::string> keys;
  for (const Pass& pass : list_passes(config, specs.shapes)) {
    const auto rules = make_rules(batch_rule(pass.worker, pass.stage).with(pass.workload), source);
    const std::string key = plan_key(pass, rules.front().rule);
    auto stage_index = static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (stage_index == keys.size()) {
      keys.push_back(key);
      report.stages.push_back(stage_report(config, pass, rules, source));
    }
    report.stages[stage_index].roles.push_back(pass.role);
    if (specs.are_known()) add_metrics(report.stages[stage_index], pass.metrics_name);  // training balances by FLOPs
  }
  add_budgets(report, config, specs.are_known() ? std::optional(specs.shapes) : std::nullopt, source.steps.front(),
              memory_bytes);
  return report;
}

}  // namespace roll
