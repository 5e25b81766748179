#include "settings/judging_models.h"

namespace roll {

std::vector<JudgingModel> judging_models(const Config& config) {
  std::vector<JudgingModel> models;
  JudgingModel cluster{.domains = {},
                       .writes = true,
                       .worker = &config.reward_model,
                       .generating_args = &config.reward_model.generating_args};
  for (const auto& [domain, worker] : config.rewards) {
    if (worker.shares_model()) cluster.domains.push_back(domain);
    if (!worker.has_own_model()) continue;
    const auto* judge = std::get_if<LlmJudgeArgs>(&*worker.reward.type);
    models.push_back({.domains = {domain},
                      .writes = judge != nullptr,
                      .worker = &worker.model,
                      .generating_args = judge ? &judge->generating_args : nullptr});
  }
  if (!cluster.domains.empty()) models.push_back(std::move(cluster));
  return models;
}

}  // namespace roll
