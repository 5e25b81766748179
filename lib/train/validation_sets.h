// Parts of validations over ranks, for trainings (rlvr.cpp) and evaluations (evaluation.cpp): sizes, the worker that
// scores responses, metrics, and an evaluation that saves its responses. A validation is a set of prompts with a name;
// the name of the validation's own rows is "" (unnamed), that of a set in validation.sets is its key.
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

/// Returns (number of prompts, samples per prompt) of each validation in plan.sets, in that order. rows: prompts by
/// name of the validation.
std::vector<std::pair<int64_t, int64_t>> due_validations(const SamplingPlan& plan,
                                                         const std::map<std::string, RowStore>& rows);

/// Makes this rank's rollout worker, which samples and scores responses; null if this rank is not in `sampler`, the
/// mesh of the ranks that sample. `models`, `sampler`, `tokenizer` and `log` must outlive the result. If one rank fails
/// (say, a port is taken), all throw. **Collective** over the world.
std::unique_ptr<RolloutWorker> make_rollout_worker(const Config& config, const std::filesystem::path& model_folder,
                                                   const Tokenizer& tokenizer, RewardModels& models, RoleMesh& sampler,
                                                   Log& log);

/// Returns the metrics of the unnamed validation, equal on all ranks. Logs the main ones and `samples`, and shows the
/// last sample on the screen of `run`. title: begins the line in the log, e.g. "validation after step 10". records:
/// this rank's responses. **Collective** over `ranks`, the ranks that together hold all responses.
Metrics log_validation(const std::string& title, const std::vector<RolloutRecord>& records,
                       const std::vector<ShownSample>& samples, Run& run, Communicator& ranks, Log& log);

/// Returns the estimates for a named set (evaluation/measured_set.h), equal on all ranks. local: this rank's responses;
/// num_samples: samples per prompt. **Collective** over `ranks`.
MeasuredSet measure_over_ranks(const JudgedSamples& local, int64_t num_samples, Communicator& ranks);

/// Logs a table of the named sets under `title` and returns their metrics; does nothing if `sets` is empty.
Metrics log_sets(const std::string& title, const std::map<std::string, MeasuredSet>& sets, Log& log);

/// Returns the records as a message with only what the estimates need.
JudgedSamples judged_samples(const std::vector<RolloutRecord>& records);

/// Evaluation that saves responses piece by piece and continues after the saved pieces. A piece is the responses to
/// prompts_per_piece consecutive prompts of a validation (kept_responses.h).
class KeptEvaluation {
 public:
  /// sampler: samples and scores the pieces that are not saved. resolved_config: the configuration as YAML. sources:
  /// has the policy's folder. Configuration, weights and rows must be those of the saved responses. `sampler` and
  /// `ranks` must outlive this object. Throws UserError if the saved responses were made with other settings.
  /// **Collective** over `ranks`.
  KeptEvaluation(RolloutManager& sampler, const std::vector<SetPlan>& sets, int64_t prompts_per_piece,
                 const std::string& resolved_config, const RoleSources& sources,
                 const std::filesystem::path& run_folder, Communicator& ranks);
  using TakePiece = std::function<void(std::vector<RolloutRecord> records)>;
  /// Reads or samples all responses of a validation, piece by piece, and calls `take` with each piece, on the first
  /// rank only. Throws Stopped on all ranks after a signal; finished pieces are saved. **Collective** over the ranks.
  void for_each_piece(const SetPlan& set, const TakePiece& take);

 private:
  RolloutManager& sampler_;
  int64_t prompts_per_piece_;
  Communicator& ranks_;
  std::unique_ptr<KeptResponses> kept_;  // null except on the first rank
};

}  // namespace roll
