// Lists the models of a run that judge responses: reward models return a number, judges write text.
#pragma once

#include <string>
#include <vector>

#include "settings/config.h"

namespace roll {

struct JudgingModel {
  std::string role;                                 // "rewards.math" or "reward_model" (shared)
  std::vector<std::string> domains;                 // domains whose responses it judges
  const WorkerConfig* worker = nullptr;             // keys of the model and layout; never null
  const GeneratingArgs* generating_args = nullptr;  // sampling of a judge; null for a reward model
  std::vector<const LlmJudgeArgs*> judges = {};     // settings of a judge for each of `domains`; empty: reward model
  int64_t longest_sequence = 0;  // tokens, approximate: the run's longest sequence, plus the answer of a judge

  /// True for a judge, false for a reward model.
  bool writes() const { return generating_args != nullptr; }
};

/// Returns a model for each domain whose reward needs one, and last the shared judge if a domain has judge_model_type:
/// cluster. The pointers are into `config`.
std::vector<JudgingModel> judging_models(const Config& config);

}  // namespace roll
