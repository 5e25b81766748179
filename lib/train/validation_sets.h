// Validations over ranks: their rows, their responses, at once or in pieces that are kept, and their numbers.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "collect/rollout_manager.h"
#include "evaluation/measured_set.h"
#include "records/messages.h"
#include "run/run.h"
#include "step/roles.h"
#include "train/kept_responses.h"

namespace roll {

/// Prompts and samples of each validation.
std::vector<std::pair<int64_t, int64_t>> validations_of(const SamplingPlan& plan,
                                                        const std::map<std::string, RowStore>& rows);

/// What samples on this rank; null where the sampler does not live. References must outlive it. **Collective** over the
/// world, which hears of what one rank cannot have, a port say.
std::unique_ptr<RolloutWorker> rollout_worker_of(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, RewardModels& models, RoleMesh& sampler,
                                                 Log& log);

/// The numbers of the validation's own rows, told with `samples` behind `title`. `records`: this rank's part.
/// **Collective**.
Metrics tell_validation(const std::string& title, const std::vector<RolloutRecord>& records,
                        const std::vector<ShownSample>& samples, Run& run, Communicator& ranks, Log& log);

/// `mine`: this rank's part of the responses. All ranks get equal numbers. **Collective**.
MeasuredSet measured_over(const JudgedSamples& mine, int64_t num_samples, Communicator& ranks);

/// Tells the log all sets, where there are some, and gives their metrics.
Metrics tell_sets(const std::string& title, const std::map<std::string, MeasuredSet>& sets, Log& log);

JudgedSamples judged_samples(const std::vector<RolloutRecord>& records);

/// An evaluation whose responses are kept so many prompts at a time, and that goes on behind those that are.
class KeptEvaluation {
 public:
  /// `folders`: of the policy. **Collective**. UserError as KeptResponses'.
  KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_of_piece,
                 const std::string& resolved_config, const RoleSources& sources,
                 const std::filesystem::path& run_folder, Communicator& ranks);
  using TakePiece = std::function<void(std::vector<RolloutRecord> records)>;
  /// All responses to the set, some prompts at a time, those that were kept and new ones: `take` gets them on the first
  /// rank. **Collective**. Stopped, on all ranks, between two pieces, or as RolloutManager::validation().
  void responses_of(const SetPlan& set, const TakePiece& take);

 private:
  RolloutManager& sampler_;
  int64_t prompts_of_piece_;
  Communicator& ranks_;
  std::unique_ptr<KeptResponses> kept_;  // the first rank's
};

}  // namespace roll
