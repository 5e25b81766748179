#include "step/step_metrics.h"

#include <ATen/ATen.h>

#include "model/log_probs.h"
#include "model/router_training.h"
#include "pipeline/schedule.h"

namespace roll {

std::string packing_prefix(const std::string& model) {
  return model == "actor" || model == "sft" || model == "dpo" || model == "distill" ? "packing/"
                                                                                    : "packing/" + model + "/";
}

void add_packing_metrics(const std::string& model, const BatchStats& stats, Metrics& metrics) {
  const std::string prefix = packing_prefix(model);
  for (const double fill : stats.fills()) metrics.add(prefix + "fill", fill);
  if (stats.shared() > 0) metrics.add(prefix + "shared", stats.shared());
  metrics.add(prefix + "padding", stats.padding());
  metrics.add(prefix + "num_micro_batches", static_cast<double>(stats.num_micro_batches()));
  metrics.add(prefix + "imbalance", stats.rank_imbalance());
  metrics.add(prefix + "imbalance_tokens", stats.rank_imbalance_tokens());
}

void add_wait_metric(const std::string& model, double compute_s, Communicator& ranks, Metrics& metrics) {
  const double slowest = ranks.all_reduce_max(compute_s, "slowest rank's time");
  const double mean = ranks.all_reduce_sum(compute_s, "ranks' time") / ranks.size();
  metrics.add(packing_prefix(model) + "wait_s@sum", slowest - mean);
}

void add_pipeline_metrics(const std::string& model, const PipelineShape& shape, int64_t num_micro_batches,
                          const UpdateResult& update, Mesh& mesh, Metrics& metrics) {
  Communicator& ranks = mesh.world();
  const double waited_s = ranks.all_reduce_sum(update.stage_wait_s, "waits of stages");
  const double total_s = ranks.all_reduce_sum(update.compute_s, "times of stages");
  metrics.add(fmt::format("pipeline/{}/bubble", model), bubble_share(shape, num_micro_batches));
  if (total_s > 0) metrics.add(fmt::format("pipeline/{}/waiting", model), waited_s / total_s);
  if (!update.pass_s) return;
  std::vector<std::vector<double>> stage_times;
  for (const at::Tensor& stage : mesh.pp().all_gather(at::tensor(*update.pass_s, at::kDouble), "times of passes"))
    stage_times.emplace_back(stage.const_data_ptr<double>(), stage.const_data_ptr<double>() + stage.numel());
  const int64_t has_passes = num_micro_batches > 0 ? 1 : 0;
  const double idle = ranks.all_reduce_sum(idle_share(shape, num_micro_batches, stage_times), "idle shares");
  metrics.add(fmt::format("pipeline/{}/idle", model),
              idle / static_cast<double>(ranks.all_reduce_sum(has_passes, "ranks with passes")));
}

void add_traffic_metrics(Traffic& traffic, Metrics& metrics) {
  for (const auto& [key, count] : traffic.take())
    if (count.bytes > 0) metrics.add(fmt::format("comm/{}_bytes", key), static_cast<double>(count.bytes));
}

void add_reduction_metrics(const std::string& model, const UpdateTrace& update, Metrics& metrics) {
  metrics.add(fmt::format("comm/{}/reduce_s@sum", model), update.reduce_s());
  metrics.add(fmt::format("comm/{}/reduce_hidden_s@sum", model), update.hidden_s());
}

void add_mtp_loss(const std::string& model, const TokenLogProbs& computed, double coef, int64_t num_tokens,
                  LossResult& result) {
  const at::Tensor& log_probs = computed.mtp_log_probs;
  const double weight = 1 / static_cast<double>(num_tokens);
  const at::Tensor loss = log_probs.sum() * -weight;
  result.loss = result.loss.defined() ? result.loss + coef * loss : coef * loss;
  const auto num_others = static_cast<double>(log_probs.numel() - computed.num_mtp);  // each counts as 1 in the sum
  const at::Tensor hits = (log_probs.detach().exp().sum(at::kDouble) - num_others) * weight;
  result.deferred.push_back(
      deferred_sums({model + "/mtp/loss@sum", model + "/mtp/probability@sum"}, {loss.detach(), hits}));
}

void add_router_metrics(const std::string& model, const RouterTraining* routers, LossResult& result) {
  if (routers) result.deferred.push_back(deferred_sums(routers->names(model), routers->sums()));
}

}  // namespace roll
