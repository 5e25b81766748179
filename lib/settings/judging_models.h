// Models of this program that judge responses: reward models, which give a number, and judges, which write.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"

namespace roll {

struct JudgingModel {
  std::string role;  // "rewards.math", "reward_model"
  std::vector<std::string> domains;
  const WorkerConfig* worker = nullptr;
  const GeneratingArgs* generating_args = nullptr;  // of one that writes
  std::vector<const LlmJudgeArgs*> judges = {};     // what each domain asks one that writes; else none
  int64_t longest_sequence = 0;  // about: a sequence of the run, and what is written of it; as RoleSources'

  bool writes() const { return generating_args != nullptr; }
};

/// One for each domain whose reward needs its own, and one for all with judge_model_type: cluster. They point into
/// `config`.
std::vector<JudgingModel> judging_models(const Config& config);

}  // namespace roll
