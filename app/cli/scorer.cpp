#include "app/cli/scorer.h"

#include <iostream>
#include <utility>

#include "base/error.h"
#include "dist/single.h"
#include "model/device.h"
#include "settings/complete.h"

namespace roll {

namespace {

/// As a run of one rank has it: with a judge of its own, wherever it is described.
Config completed(Config config, const std::string& where) {
  complete_judging_models(config);
  RewardWorkerConfig& worker = config.rewards.begin()->second;
  if (worker.shares_model()) {
    auto& judge = std::get<LlmJudgeArgs>(*worker.reward.type);
    judge.judge_model_type = JudgeModelType::kInference;
    judge.generating_args = config.reward_model.generating_args;
    worker.model = config.reward_model;
  }
  if (!worker.has_own_model()) return config;
  worker.model.strategy_args = {};
  if (!worker.model.model_args.model_name_or_path)
    throw user_error("{}model_args.model_name_or_path: missing; set it to the judging model's folder", where);
  return config;
}

at::Device used(const std::string& name) {
  const at::Device device = parse_device(name, "--device");
  use_device(device);
  return device;
}

}  // namespace

Scorer::Scorer(Config config, const std::string& where, const std::string& device)
    : config_(completed(std::move(config), where)),
      world_(make_single_communicator()),
      meshes_(*world_),
      log_(std::cerr, std::cerr, {}),
      pool_(config_.rewards.begin()->second.reward, config_.response_length.value_or(0), where, 1, &log_),
      models_(config_, meshes_, used(device), log_) {}

std::vector<RewardResult> Scorer::score(std::vector<RewardQuery> queries) {
  if (!models_.empty()) {
    std::map<std::string, std::map<int64_t, RewardQuery>> held;
    auto& mine = held[config_.rewards.begin()->first];
    for (RewardQuery& query : queries) mine.emplace(std::ssize(mine), std::move(query));
    models_.judge(held, /*step=*/0);
    queries.clear();
    for (auto& [place, query] : mine) queries.push_back(std::move(query));
  }
  for (RewardQuery& query : queries) pool_.submit(std::move(query));
  return pool_.collect();
}

}  // namespace roll
