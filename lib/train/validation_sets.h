// Named validation sets over ranks: their responses, at once or in pieces that are kept, and their numbers.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "collect/rollout_manager.h"
#include "evaluation/measured_set.h"
#include "records/messages.h"
#include "train/kept_responses.h"

namespace roll {

/// `mine`: this rank's part of the responses. All ranks get equal numbers. **Collective**.
MeasuredSet measured_over(const JudgedSamples& mine, int64_t num_samples, Communicator& ranks);

JudgedSamples judged_samples(const std::vector<RolloutRecord>& records);

/// An evaluation whose responses are kept so many prompts at a time, and that goes on behind those that are.
class KeptEvaluation {
 public:
  /// `model`: the policy's folder. **Collective**. UserError as KeptResponses'.
  KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_of_piece,
                 const std::string& resolved_config, const std::filesystem::path& model,
                 const std::filesystem::path& run_folder, Communicator& ranks);
  /// All responses to the set on the first rank, those that were kept and new ones; none elsewhere. **Collective**.
  /// Stopped as RolloutManager::validation().
  JudgedSamples samples_of(const SetPlan& set);

 private:
  RolloutManager& sampler_;
  int64_t prompts_of_piece_;
  Communicator& ranks_;
  std::unique_ptr<KeptResponses> kept_;  // the first rank's
};

}  // namespace roll
