#include "settings/judging_models.h"

namespace roll {

std::vector<JudgingModel> judging_models(const Config& config) {
  std::vector<JudgingModel> models;
  JudgingModel cluster{.role = "reward_model",
                       .domains = {},
                       .worker = &config.reward_model,
                       .generating_args = &config.reward_model.generating_args};
  for (const auto& [domain, worker] : config.rewards) {
    const auto* judge = worker.reward.type ? std::get_if<LlmJudgeArgs>(&*worker.reward.type) : nullptr;
    if (worker.shares_model()) {
      cluster.domains.push_back(domain);
      cluster.judges.push_back(judge);
    }
    if (!worker.has_own_model()) continue;
    models.push_back({.role = "rewards." + domain, .domains = {domain}, .worker = &worker.model});
    if (!judge) continue;
    models.back().generating_args = &judge->generating_args;
    models.back().judges = {judge};
  }
  if (!cluster.domains.empty()) models.push_back(std::move(cluster));
  for (JudgingModel& model : models)
    model.longest_sequence =
        config.longest_sequence() + (model.writes() ? model.generating_args->max_new_tokens.value_or(0) : 0);
  return models;
}

}  // namespace roll
