// Runs validations over ranks: rows, responses (at once, or in saved pieces), and metrics.
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

/// Returns (prompts, samples per prompt) of each validation.
std::vector<std::pair<int64_t, int64_t>> due_validations(const SamplingPlan& plan,
                                                         const std::map<std::string, RowStore>& rows);

/// Makes this rank's rollout worker; null if the sampler does not live here. References must outlive it. **Collective**
/// over the world: if one rank fails (say, a port is taken), all throw.
std::unique_ptr<RolloutWorker> make_rollout_worker(const Config& config, const std::filesystem::path& model_folder,
                                                   const Tokenizer& tokenizer, RewardModels& models, RoleMesh& sampler,
                                                   Log& log);

/// Returns the metrics of the unnamed validation, and logs them with `samples` under `title`. `records`: this rank's
/// part. **Collective**.
Metrics log_validation(const std::string& title, const std::vector<RolloutRecord>& records,
                       const std::vector<ShownSample>& samples, Run& run, Communicator& ranks, Log& log);

/// Returns the measures of a set, equal on all ranks. `local`: this rank's responses. **Collective**.
MeasuredSet measure_over_ranks(const JudgedSamples& local, int64_t num_samples, Communicator& ranks);

/// Logs all sets, if any, and returns their metrics.
Metrics log_sets(const std::string& title, const std::map<std::string, MeasuredSet>& sets, Log& log);

JudgedSamples judged_samples(const std::vector<RolloutRecord>& records);

/// Evaluation that saves responses in pieces of some prompts and resumes after the saved pieces.
class KeptEvaluation {
 public:
  /// `sources`: of the policy. **Collective**. UserError: see KeptResponses.
  KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_per_piece,
                 const std::string& resolved_config, const RoleSources& sources,
                 const std::filesystem::path& run_folder, Communicator& ranks);
  using TakePiece = std::function<void(std::vector<RolloutRecord> records)>;
  /// Goes through all responses of a set, saved or new, in pieces of some prompts; calls `take` on the first rank.
  /// **Collective**. Throws Stopped on all ranks, between pieces or as RolloutManager::validation() does.
  void for_each_piece(const SetPlan& set, const TakePiece& take);

 private:
  RolloutManager& sampler_;
  int64_t prompts_per_piece_;
  Communicator& ranks_;
  std::unique_ptr<KeptResponses> kept_;  // set on the first rank
};

}  // namespace roll
