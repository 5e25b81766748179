// Formats the preview of a run's packing as text for a terminal, JSON, and one HTML page. Computes no plans.
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

/// One batch under the configured packing and under others.
struct BatchReport {
  int64_t step = 1;
  int64_t number = 1;             // mini-batch in the step, from 1
  double padded_work = 0;         // forward work with padded batching
  std::vector<BatchStats> plans;  // in the order of StageReport::algorithms
};

/// Metrics that training reports for one step.
struct StepMetrics {
  int64_t step = 1;
  std::vector<std::pair<std::string, double>> values;
};

/// All batches of the roles that share one packing configuration.
struct StageReport {
  bool trains = false;               // else forwards without gradient
  std::vector<std::string> roles{};  // "actor_train", "critic", ...
  int64_t budget = 0;                // tokens per micro-batch; 0: a fixed number of sequences
  int64_t alignment = 1;
  int64_t padded_size = 0;                // sequences per micro-batch with padded batching, for comparison
  std::vector<std::string> algorithms{};  // the configured one first
  std::vector<BatchReport> batches{};     // at least one
  std::vector<StepMetrics> metrics{};     // for the configured algorithm; empty if work is counted in tokens
};

/// Estimated memory of a rank.
struct BudgetMemory {
  double activation_bytes = 0;
  double total_bytes = 0;  // with weights, gradients and optimizer
};

/// Results of another training budget with load_balance.
struct BudgetRow {
  int64_t budget = 0;
  double micro_batches = 0;  // per update and rank
  double fill = 0;
  double rank_imbalance = 0;
  std::optional<BudgetMemory> memory{};  // only if the models' shapes are known
  bool is_configured = false;
  bool is_suggested = false;
};

struct PackReport {
  std::string config;              // file
  std::string source;              // origin of the lengths, in words
  bool counts_flops = true;        // work in FLOPs; else in tokens, because the models' shapes are unknown
  std::vector<std::string> notes;  // further notes for the reader
  int64_t num_ranks = 1;
  std::vector<int64_t> lengths;  // lengths of all sequences
  int64_t num_steps = 0;
  std::vector<StageReport> stages;
  std::vector<BudgetRow> budgets;
  std::string budget_rule;  // why the suggested budget is chosen
};

/// One algorithm over all batches of a stage: means over batches, except for counts.
struct PlanSummary {
  double micro_batches = 0;  // per batch and rank
  double fill = 0;           // over all micro-batches except fillers; 0 without a budget
  double padding = 0;
  double rank_imbalance = 0;
  double rank_imbalance_tokens = 0;
  double micro_batch_imbalance = 0;
  double saved = 0;  // share of padded batching's work
  int64_t fillers = 0;
  int64_t over_budget = 0;
};
PlanSummary summarise(const StageReport& stage, size_t algorithm);

/// Returns "train: actor_train, critic".
std::string stage_title(const StageReport& stage);
/// Returns "FLOPs" or "tokens".
std::string work_name(const PackReport& report);
/// Message of a report without memory estimates.
inline constexpr const char* kNoMemory = "no memory estimate, because the model's shape is unknown";
/// Formats 16384 as "16,384".
std::string grouped(int64_t number);
/// Formats 0.875 as "87.5 %".
std::string percent(double share);

/// Returns the report for a terminal, with at most `max_bars` bars per stage and a note on omitted ones.
std::string report_text(const PackReport& report, int64_t max_bars);

/// Returns the whole report, with every micro-batch.
Json report_json(const PackReport& report);

/// Returns one self-contained page: no script, no network.
std::string report_html(const PackReport& report);

}  // namespace roll
