#include "settings/judging_models.h"

namespace roll {

std::vector<JudgingModel> judging_models(const Config& config) {
  std::vector<JudgingModel> models;
  JudgingModel cluster{.domains = {},
                       .writes = true,
                       .model_args = &config.reward_model.model_args,
                       .strategy_args = &config.reward_model.strategy_args,
                       .chat_template = &config.reward_model.data_args.template_name,
                       .generating_args = &config.reward_model.generating_args};
  for (const auto& [domain, worker] : config.rewards) {
    if (worker.shares_model()) cluster.domains.push_back(domain);
    if (!worker.has_own_model()) continue;
    const auto* judge = std::get_if<LlmJudgeArgs>(&*worker.reward.type);
    models.push_back({.domains = {domain},
                      .writes = judge != nullptr,
                      .model_args = &worker.model.model_args,
                      .strategy_args = &worker.model.strategy_args,
                      .chat_template = &worker.model.data_args.template_name,
                      .generating_args = judge ? &judge->generating_args : nullptr});
  }
  if (!cluster.domains.empty()) models.push_back(std::move(cluster));
  return models;
}

}  // namespace roll
