// Report of `roll pack-stats` on a run's packing: its content, which preview/pack_preview.h fills, and its formats
// (text for a terminal, JSON, one HTML page). A batch is the sequences of one update, or all sequences of a log-prob
// forward. Work is the cost of forward passes, in FLOPs or in tokens. Padded batching, for comparison, gives each
// micro-batch a fixed number of sequences and pads them to the longest.
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

/// One batch under the configured packing algorithm and under others.
struct BatchReport {
  int64_t step = 1;               // training step, from 1
  int64_t number = 1;             // mini-batch in the step, from 1
  double padded_work = 0;         // work of its forward passes with padded batching
  std::vector<BatchStats> plans;  // one for each of StageReport::algorithms
};

/// Packing metrics that a training would report for one step.
struct StepMetrics {
  int64_t step = 1;
  std::vector<std::pair<std::string, double>> values;  // name and value
};

/// All training batches, or all log-prob batches, of the roles that share one packing configuration.
struct StageReport {
  bool trains = false;                    // true: micro-batches of training; false: of log-prob forwards
  std::vector<std::string> roles{};       // "actor_train", "critic", ...
  int64_t budget = 0;                     // tokens per micro-batch; 0: a fixed number of sequences
  int64_t alignment = 1;                  // lengths are rounded up to multiples of this number
  int64_t padded_size = 0;                // sequences per micro-batch with padded batching, for comparison
  std::vector<std::string> algorithms{};  // names of the compared packing algorithms, the configured one first
  std::vector<BatchReport> batches{};     // at least one
  std::vector<StepMetrics> metrics{};     // for the configured algorithm; empty if work is counted in tokens
};

/// Estimated memory of a rank in training.
struct BudgetMemory {
  double activation_bytes = 0;
  double total_bytes = 0;  // activations, weights, gradients and optimizer
};

/// Results of training with one token budget, packed by load_balance.
struct BudgetRow {
  int64_t budget = 0;                    // tokens per micro-batch
  double micro_batches = 0;              // mean number per update and rank
  double fill = 0;                       // mean share of the budget that is used
  double rank_imbalance = 0;             // mean of BatchStats::rank_imbalance()
  std::optional<BudgetMemory> memory{};  // unset if the models' shapes are unknown
  bool is_configured = false;            // the budget of the configuration
  bool is_suggested = false;             // at most one row
};

/// The whole report.
struct PackReport {
  std::string config;               // configuration file
  std::string source;               // origin of the lengths, in words
  bool counts_flops = true;         // work in FLOPs; else in tokens, because the models' shapes are unknown
  std::vector<std::string> notes;   // further notes for the reader
  int64_t num_ranks = 1;            // ranks of the run
  std::vector<int64_t> lengths;     // tokens of all sequences of all steps
  int64_t num_steps = 0;            // steps that were planned
  std::vector<StageReport> stages;  // training and forwards, by packing configuration
  std::vector<BudgetRow> budgets;   // ascending by budget
  std::string budget_rule;          // the suggested budget and the reason for it, in words
};

/// Results of one packing algorithm over all batches of a stage; means over the batches, unless a comment says
/// otherwise.
struct PlanSummary {
  double micro_batches = 0;          // per rank
  double fill = 0;                   // share of the budget used, mean over micro-batches except fillers; 0: no budget
  double padding = 0;                // BatchStats::padding()
  double rank_imbalance = 0;         // BatchStats::rank_imbalance()
  double rank_imbalance_tokens = 0;  // BatchStats::rank_imbalance_tokens()
  double micro_batch_imbalance = 0;  // BatchStats::micro_batch_imbalance()
  double saved = 0;                  // 1 - work / work of padded batching, over all batches
  int64_t fillers = 0;               // number of empty micro-batches, over all batches
  int64_t over_budget = 0;           // number of micro-batches over the budget, over all batches; always 0
};
/// Returns the summary of stage.algorithms[algorithm].
PlanSummary summarise(const StageReport& stage, size_t algorithm);

/// Returns a heading like "train: actor_train, critic".
std::string stage_title(const StageReport& stage);
/// Returns the unit of work, "FLOPs" or "tokens".
std::string work_name(const PackReport& report);
/// Text in place of missing memory estimates.
inline constexpr const char* kNoMemory = "no memory estimate, because the model's shape is unknown";
/// Formats 16384 as "16,384".
std::string grouped(int64_t number);
/// Formats 0.875 as "87.5 %".
std::string percent(double share);

/// Returns the report as text for a terminal. At most `max_bars` micro-batches of a stage are drawn as bars; a note
/// counts the others.
std::string report_text(const PackReport& report, int64_t max_bars);

/// Returns the whole report as JSON, with every micro-batch.
Json report_json(const PackReport& report);

/// Returns the report as one HTML page without scripts, which loads nothing from the network.
std::string report_html(const PackReport& report);

}  // namespace roll
