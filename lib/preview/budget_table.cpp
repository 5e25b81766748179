#include "preview/budget_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "packing/alignment.h"
#include "step/step_settings.h"

namespace roll {

namespace {

constexpr double kFillTolerance = 0.02;
constexpr size_t kMaxRows = 10;
constexpr int64_t kMaxSequences = 20000;  // planned per budget; enough for a stable mean

void set_budget(WorkerConfig& worker, int64_t budget) {
  worker.packing.use_sequence_packing = true;
  worker.packing.sequence_packing_args.max_packed_sequence_length_train = budget;
}

/// Returns the first mini-batches of the step, up to kMostSequences.
std::vector<SequenceSizes> first_mini_batches(const Config& config, const StepLengths& step) {
  std::vector<SequenceSizes> batches;
  int64_t planned = 0;
  const EpochRule epochs = epoch_rule(config, config.actor_train);
  for (const auto& indices : step_mini_batches(epochs, std::ssize(step.lengths), step.step)) {
    if (planned >= kMaxSequences) break;
    batches.push_back(step.sizes().select(indices));
    planned += std::ssize(indices);
  }
  return batches;
}

BudgetRow budget_row(int64_t budget, const BatchRule& configured, const std::vector<SequenceSizes>& batches,
                     int64_t data_ranks) {
  BatchRule rule = configured;
  rule.is_packed = true;
  rule.packing.algorithm = PackAlgorithm::kLoadBalance;
  rule.packing.budget = budget;
  StageReport stage{.trains = true,
                    .budget = budget,
                    .alignment = rule.packing.alignment,
                    .padded_size = 1,
                    .algorithms = {std::string(enum_name(rule.packing.algorithm))}};
  for (const auto& sizes : batches)
    stage.batches.push_back(
        {.plans = {batch_stats(plan_ranks(sizes, rule, data_ranks), shareable(sizes, rule), rule.packing)}});
  const PlanSummary summary = summarise(stage, 0);
  return {.budget = budget,
          .micro_batches = summary.micro_batches,
          .fill = summary.fill,
          .rank_imbalance = summary.rank_imbalance,
          .is_configured = configured.is_packed && configured.packing.budget == budget};
}

void add_memory(BudgetRow& row, Config config, const RoleShapes& models) {
  for (const TrainableRole& role : trainable_roles()) set_budget(config.*role.worker, row.budget);
  const MemoryEstimate memory =
      estimate_memory(config, models, config.actor_train.device_mapping.has_value(), config.actor_train.ranks.front());
  row.memory = {.activation_bytes = memory.activations, .total_bytes = memory.training()};
}

/// Returns the index of the suggested row and the reason.
std::pair<size_t, std::string> suggestion(const std::vector<BudgetRow>& rows, std::optional<double> memory_bytes) {
  double best = 0;
  for (const auto& row : rows) best = std::max(best, row.fill);
  if (!memory_bytes) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.fill >= best - kFillTolerance; });
    return {static_cast<size_t>(row - rows.begin()),
            fmt::format("{} tokens, the smallest budget whose fill is within 2 percentage points of the best ({}){}",
                        grouped(row->budget), percent(best),
                        row->memory ? "; with --memory-gb, the largest budget that fits is suggested instead" : "")};
  }
  const double gb = *memory_bytes / 1e9;
  for (size_t i = rows.size(); i-- > 0;)
    if (rows[i].memory->total_bytes <= *memory_bytes)
      return {i, fmt::format("{} tokens, the largest budget that fits {} GB", grouped(rows[i].budget), gb)};
  return {rows.size(), fmt::format("none: even {} tokens need {:.1f} GB, more than the {} GB",
                                   grouped(rows.front().budget), rows.front().memory->total_bytes / 1e9, gb)};
}

}  // namespace

void add_budgets(PackReport& report, const Config& config, const std::optional<RoleShapes>& models,
                 const StepLengths& step, std::optional<double> memory_bytes) {
  if (memory_bytes && !models)
    throw user_error("--memory-gb: needs the model's shape, which is unknown; give the shape with --arch");
  const Workload workload = models ? make_workload(policy_shape(*models)) : Workload{};
  const BatchRule configured = batch_rule(config.actor_train, Stage::kTrain).with(workload);
  const auto batches = first_mini_batches(config, step);
  const int64_t longest =
      std::max(config.sequence_length.value(), *std::max_element(step.lengths.begin(), step.lengths.end()));
  std::set<int64_t> budgets;
  if (configured.is_packed) budgets.insert(configured.packing.budget);
  const auto make_row = [&](int64_t budget) {
    return budget_row(budget, configured, batches, config.actor_train.data_ranks());
  };
  for (int64_t budget = aligned_length(longest, configured.packing.alignment); budgets.size() < kMaxRows; budget *= 2) {
    budgets.insert(budget);
    if (make_row(budget).micro_batches <= 1) break;
  }
  for (const int64_t budget : budgets) {
    report.budgets.push_back(make_row(budget));
    if (models) add_memory(report.budgets.back(), config, *models);
  }
  const auto [suggested, reason] = suggestion(report.budgets, memory_bytes);
  if (suggested < report.budgets.size()) report.budgets[suggested].is_suggested = true;
  report.budget_rule = reason;
}

}  // namespace roll
