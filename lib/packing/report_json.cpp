#include <algorithm>
#include <nlohmann/json.hpp>

#include "packing/report.h"

namespace roll {

namespace {

Json lengths_json(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  int64_t total = 0;
  for (const int64_t length : sorted) total += length;
  const Histogram bins = histogram(sorted, 40);
  return {{"count", sorted.size()},
          {"tokens", total},
          {"min", sorted.front()},
          {"mean", json_float(static_cast<double>(total) / static_cast<double>(sorted.size()))},
          {"p50", quantile(sorted, 0.5)},
          {"p99", quantile(sorted, 0.99)},
          {"max", sorted.back()},
          {"histogram", {{"bin_width", bins.width}, {"counts", bins.counts}}}};
}

Json summary_json(const std::string& algorithm, const PlanSummary& s, int64_t budget, bool counts_flops) {
  Json json = {{"algorithm", algorithm}, {"micro_batches_per_rank", json_float(s.micro_batches)}};
  json["fill"] = budget > 0 ? json_float(s.fill) : Json();
  json["padding"] = json_float(s.padding);
  json["imbalance"] = json_float(s.rank_imbalance);
  json["imbalance_tokens"] = json_float(s.rank_imbalance_tokens);
  json["imbalance_micro_batches"] = json_float(s.micro_batch_imbalance);
  json[counts_flops ? "flops_saved" : "tokens_saved"] = json_float(s.saved);
  json["fillers"] = s.fillers;
  json["over_budget"] = s.over_budget;
  return json;
}

Json batch_json(const BatchReport& batch, bool counts_flops) {
  Json ranks = Json::array();
  for (const auto& rank : batch.plans.front().ranks) {
    Json& micro_batches = ranks.emplace_back(Json::array());
    for (const auto& m : rank) {
      micro_batches.push_back(
          {{"sequences", m.num_sequences}, {"tokens", m.tokens}, {"aligned_tokens", m.aligned_tokens}});
      if (counts_flops) micro_batches.back()["flops"] = json_float(m.work);
    }
  }
  return {{"step", batch.step}, {"number", batch.number}, {"ranks", std::move(ranks)}};
}

Json metrics_json(const StepMetrics& metrics) {
  Json values = Json::object();
  for (const auto& [name, value] : metrics.values) values[name] = json_float(value);
  return {{"step", metrics.step}, {"values", std::move(values)}};
}

Json stage_json(const StageReport& stage, bool counts_flops) {
  Json json = {{"stage", stage.trains ? "train" : "forward"},
               {"roles", stage.roles},
               {"algorithm", stage.algorithms.front()},
               {"budget", stage.budget > 0 ? Json(stage.budget) : Json()},
               {"alignment", stage.alignment},
               {"padded_micro_batch", stage.padded_size}};
  for (size_t a = 0; a < stage.algorithms.size(); ++a)
    json["summary"].push_back(summary_json(stage.algorithms[a], summarise(stage, a), stage.budget, counts_flops));
  for (const auto& batch : stage.batches) json["batches"].push_back(batch_json(batch, counts_flops));
  json["metrics"] = Json::array();
  for (const auto& metrics : stage.metrics) json["metrics"].push_back(metrics_json(metrics));
  return json;
}

Json budget_json(const BudgetRow& row) {
  return {{"budget", row.budget},
          {"micro_batches_per_rank", json_float(row.micro_batches)},
          {"fill", json_float(row.fill)},
          {"imbalance", json_float(row.rank_imbalance)},
          {"activation_bytes", row.memory ? json_float(row.memory->activation_bytes) : Json()},
          {"total_bytes", row.memory ? json_float(row.memory->total_bytes) : Json()},
          {"configured", row.is_configured},
          {"suggested", row.is_suggested}};
}

}  // namespace

Json report_json(const PackReport& report) {
  Json json = {{"config", report.config},
               {"source", report.source},
               {"notes", report.notes},
               {"work", work_name(report)},
               {"num_ranks", report.num_ranks},
               {"steps", report.num_steps},
               {"lengths", lengths_json(report.lengths)}};
  json["stages"] = Json::array();
  for (const auto& stage : report.stages) json["stages"].push_back(stage_json(stage, report.counts_flops));
  json["budgets"] = Json::array();
  for (const auto& row : report.budgets) json["budgets"].push_back(budget_json(row));
  json["budget_rule"] = report.budget_rule;
  return json;
}

}  // namespace roll
