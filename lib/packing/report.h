// The preview of a run's packing, as text for a terminal, JSON for machines and one HTML page. Pure: plans come in as
// numbers, text goes out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "packing/statistics.h"

namespace roll {

/// One batch under the configured way of packing and under the other ones.
struct BatchReport {
  int64_t step = 1;
  int64_t number = 1;             // mini-batch of the step, from 1
  double padded_work = 0;         // of padded batching, in the work of a forward
  std::vector<BatchStats> plans;  // as StageReport::algorithms
};

/// The metrics that a training reports for one step.
struct StepMetrics {
  int64_t step = 1;
  std::vector<std::pair<std::string, double>> values;
};

/// All batches of the roles that share one way of packing.
struct StageReport {
  bool trains = false;               // else forwards without gradient
  std::vector<std::string> roles{};  // "actor_train", "critic", ...
  int64_t budget = 0;                // tokens of a micro-batch; 0: a fixed number of sequences
  int64_t alignment = 1;
  int64_t padded_size = 0;                // sequences of a micro-batch of padded batching, for comparison
  std::vector<std::string> algorithms{};  // the configured one first
  std::vector<BatchReport> batches{};     // at least one
  std::vector<StepMetrics> metrics{};     // of the configured one; none where work is counted in tokens
};

/// The estimated memory of a rank.
struct BudgetMemory {
  double activation_bytes = 0;
  double total_bytes = 0;  // with weights, gradients and optimizer
};

/// What another training budget would give; with load_balance.
struct BudgetRow {
  int64_t budget = 0;
  double micro_batches = 0;  // per update and rank
  double fill = 0;
  double rank_imbalance = 0;
  std::optional<BudgetMemory> memory{};  // where the models' shapes are known
  bool is_configured = false;
  bool is_suggested = false;
};

struct PackReport {
  std::string config;              // file
  std::string source;              // where the lengths come from, in words
  bool counts_flops = true;        // as work; else tokens, because the models' shapes are not known
  std::vector<std::string> notes;  // what else a reader must know
  int64_t num_ranks = 1;
  std::vector<int64_t> lengths;  // of all sequences
  int64_t num_steps = 0;
  std::vector<StageReport> stages;
  std::vector<BudgetRow> budgets;
  std::string budget_rule;  // why the suggested one is
};

/// One algorithm over all batches of a stage: means over batches, but for the counts.
struct PlanSummary {
  double micro_batches = 0;  // per batch and rank
  double fill = 0;           // over all micro-batches but fillers; 0 without a budget
  double padding = 0;
  double rank_imbalance = 0;
  double rank_imbalance_tokens = 0;
  double micro_batch_imbalance = 0;
  double saved = 0;  // share of padded batching's work
  int64_t fillers = 0;
  int64_t over_budget = 0;
};
PlanSummary summarise(const StageReport& stage, size_t algorithm);

/// "train: actor_train, critic".
std::string stage_title(const StageReport& stage);
/// "FLOPs" or "tokens".
std::string work_name(const PackReport& report);
/// Why a report gives no memory.
inline constexpr const char* kNoMemory = "no memory, because the shape of the model is not known";
/// "16,384".
std::string grouped(int64_t number);
/// "87.5 %".
std::string percent(double share);

/// For a terminal; at most `max_bars` bars per stage, and the text says what is left out.
std::string report_text(const PackReport& report, int64_t max_bars);

/// Everything, every micro-batch included.
Json report_json(const PackReport& report);

/// One page that needs nothing else: no script, no network.
std::string report_html(const PackReport& report);

}  // namespace roll
