#include "packing/report.h"

#include <fmt/format.h>

namespace roll {

namespace {

/// Adds a batch to the sums, which become means at the end.
void add_batch(PlanSummary& sum, const BatchStats& stats) {
  sum.micro_batches += static_cast<double>(stats.num_micro_batches());
  sum.padding += stats.padding();
  sum.rank_imbalance += stats.rank_imbalance();
  sum.rank_imbalance_tokens += stats.rank_imbalance_tokens();
  sum.micro_batch_imbalance += stats.micro_batch_imbalance();
  sum.fillers += stats.num_fillers();
  sum.over_budget += stats.num_over_budget();
}

}  // namespace

PlanSummary summarise(const StageReport& stage, size_t algorithm) {
  PlanSummary sum;
  double work = 0, padded = 0, fill = 0, filled = 0;
  for (const auto& batch : stage.batches) {
    const BatchStats& stats = batch.plans[algorithm];
    add_batch(sum, stats);
    work += stats.work();
    padded += batch.padded_work;
    for (const double f : stats.fills()) {
      fill += f;
      filled += 1;
    }
  }
  const auto n = static_cast<double>(stage.batches.size());
  for (double* mean :
       {&sum.micro_batches, &sum.padding, &sum.rank_imbalance, &sum.rank_imbalance_tokens, &sum.micro_batch_imbalance})
    *mean /= n;
  sum.fill = filled > 0 ? fill / filled : 0;
  sum.saved = padded > 0 ? 1 - work / padded : 0;
  return sum;
}

std::string stage_title(const StageReport& stage) {
  return fmt::format("{}: {}", stage.trains ? "train" : "forward", fmt::join(stage.roles, ", "));
}

std::string work_name(const PackReport& report) {
  return report.counts_flops ? "FLOPs" : "tokens";
}

std::string grouped(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    text += digits[i];
    const size_t left = digits.size() - 1 - i;
    if (left > 0 && left % 3 == 0 && digits[i] != '-') text += ',';
  }
  return text;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace roll
