#include "step/step_metrics.h"

#include "model/router_training.h"
#include "pipeline/schedule.h"

namespace roll {

std::string packing_prefix(const std::string& who) {
  return who == "actor" || who == "sft" || who == "dpo" ? "packing/" : "packing/" + who + "/";
}

void add_packing_metrics(const std::string& who, const BatchStats& stats, Metrics& metrics) {
  const std::string prefix = packing_prefix(who);
  for (const double fill : stats.fills()) metrics.add(prefix + "fill", fill);
  if (stats.shared() > 0) metrics.add(prefix + "shared", stats.shared());
  metrics.add(prefix + "padding", stats.padding());
  metrics.add(prefix + "num_micro_batches", static_cast<double>(stats.num_micro_batches()));
  metrics.add(prefix + "imbalance", stats.rank_imbalance());
  metrics.add(prefix + "imbalance_tokens", stats.rank_imbalance_tokens());
}

void add_wait_metric(const std::string& who, double compute_s, Communicator& ranks, Metrics& metrics) {
  const double slowest = ranks.all_reduce_max(compute_s, "slowest rank's time");
  const double mean = ranks.all_reduce_sum(compute_s, "ranks' time") / ranks.size();
  metrics.add(packing_prefix(who) + "wait_s@sum", slowest - mean);
}

void add_pipeline_metrics(const std::string& who, int64_t num_stages, int64_t num_micro_batches,
                          const UpdateResult& update, Communicator& ranks, Metrics& metrics) {
  const double waited = ranks.all_reduce_sum(update.stage_wait_s, "waits of stages");
  const double all = ranks.all_reduce_sum(update.compute_s, "times of stages");
  metrics.add(fmt::format("pipeline/{}/bubble", who), bubble_share(num_stages, num_micro_batches));
  if (all > 0) metrics.add(fmt::format("pipeline/{}/waiting", who), waited / all);
}

void add_traffic_metrics(Traffic& traffic, Metrics& metrics) {
  for (const auto& [key, count] : traffic.take())
    if (count.bytes > 0) metrics.add(fmt::format("comm/{}_bytes", key), static_cast<double>(count.bytes));
}

void add_reduction_metrics(const std::string& role, const UpdateTrace& update, Metrics& metrics) {
  metrics.add(fmt::format("comm/{}/reduce_s@sum", role), update.reduce_s());
  metrics.add(fmt::format("comm/{}/reduce_hidden_s@sum", role), update.hidden_s());
}

void add_router_metrics(const std::string& who, const RouterTraining* routers, LossResult& result) {
  if (routers) result.deferred.push_back(deferred_sums(routers->names(who), routers->sums()));
}

}  // namespace roll
