// Lists the models of a run that judge responses: reward models return a number, judges write text.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"

namespace roll {

struct JudgingModel {
  std::string role;  // "rewards.math", "reward_model"
  std::vector<std::string> domains;
  const WorkerConfig* worker = nullptr;
  const GeneratingArgs* generating_args = nullptr;  // judge only; nullptr: a reward model
  std::vector<const LlmJudgeArgs*> judges = {};     // judge only: one per domain
  int64_t longest_sequence = 0;                     // approximate, tokens: a sequence of the run and the judge's answer

  bool writes() const { return generating_args != nullptr; }
};

/// Returns a model per domain whose reward needs its own, and a shared one if a domain has judge_model_type: cluster.
/// The pointers are into `config`.
std::vector<JudgingModel> judging_models(const Config& config);

}  // namespace roll
