// Samples the responses of each step and of validations, for the training loop. Owns the prompt stream, opens the
// sampler with the trainer's weights, and lets the sampler's ranks sample later steps while other ranks train. Version
// v of the weights is the state after v training steps; the responses of step s are meant to be drawn with version
// s - 1. With async_generation_ratio r, while step s trains, up to r steps' worth of responses of later steps are
// sampled with version s - 1. When training ends, unfinished ones pause; later they resume with the new weights.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collect/policy_engine.h"
#include "collect/rollout_worker.h"
#include "data/prompt_stream.h"
#include "settings/sampling_plan.h"

namespace roll {

class RolloutManager {
 public:
  struct Data {
    std::optional<PromptStream> prompts;  // training prompts; unset if rollouts are replayed (step() is not called)
    int64_t prompts_per_step = 0;
    std::map<std::string, RowStore> validations;  // rows of each validation set, by SetPlan::name
  };
  /// Every rank of the run creates the object, with the same plan and data. `worker`: null if this rank has no sampler.
  /// `world`: all ranks. All references must outlive the manager. **Collective** over the world.
  RolloutManager(SamplingPlan plan, Data data, PolicyEngine& engine, RolloutWorker* worker, RewardModels& reward_models,
                 Communicator& world);

  /// Samples the responses of a step, or the rest that run_ahead() left, and returns those that this rank sampled. Only
  /// the first rank of each sampler copy (its leader) has responses. `metrics`: sampling metrics are added, equal on
  /// all ranks. Throws Stopped on all ranks if a stop was requested, and UserError as RolloutWorker::finish() and
  /// GroupQuota::add() do. **Collective** over the world.
  std::vector<RolloutRecord> step(int64_t step, Metrics& metrics);
  /// Samples rows [first, first + count) of a validation set and returns the responses that this rank sampled;
  /// group_index is the row's index. `step`: number of training steps done. A stop request ends the validation only if
  /// `step` is 0; then throws Stopped on all ranks. Leaves the sampler open. **Collective** over the world.
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set, int64_t first, int64_t count);
  /// Samples all rows of the set.
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set) {
    return validation(step, set, 0, set_rows(set).size());
  }
  /// Returns the rows of the set, which must be in Data::validations.
  const RowStore& set_rows(const SetPlan& set) const { return validations_.at(set.name); }
  /// If async_generation_ratio is above 0, samples steps after `step` until all ranks have called this, and closes the
  /// sampler; otherwise does nothing. Ranks that only sample call it while others train on `step`, the others when they
  /// have trained. Throws UserError as step() does. **Collective** over the world.
  void run_ahead(int64_t step);
  /// Closes the sampler; call it before anything else uses the devices.
  void close() { engine_.close(); }

  /// Returns the state of the prompt stream after the last step(), for a checkpoint; prompts drawn by run_ahead() do
  /// not count. The same on all ranks; null if rollouts are replayed.
  const Json& prompts_state() const { return prompts_state_; }
  /// Restores prompts_state() of a checkpoint. Throws UserError if the seed or a domain's rows have changed since. Does
  /// nothing if rollouts are replayed.
  void load_prompts_state(const Json& state);

 private:
  /// A step in progress.
  struct OpenStep {
    GroupQuota quota;
    std::unique_ptr<RolloutJob> job{};
    std::optional<std::vector<RolloutRecord>> records{};  // set when complete
    Json prompts_state{};                                 // set when complete
    std::map<std::string, int64_t> passed_over{};         // rows skipped, by domain
  };
  OpenStep& find_or_begin(int64_t step);
  void finish(OpenStep& open_step);
  std::vector<RolloutRecord> sample_step(int64_t step, Metrics& metrics);

  SamplingParams params_for(Purpose purpose, int64_t step, const SamplingSettings& generating) const;
  SamplingPlan plan_;
  PolicyEngine& engine_;
  std::shared_ptr<TokenGuesser> guesser_;  // null: no speculation; keeps the responses of earlier steps
  RolloutWorker* worker_;
  RewardModels& reward_models_;
  Communicator& world_;
  int64_t prompts_per_step_;
  std::map<std::string, RowStore> validations_;
  std::optional<PromptStream> prompts_;
  Json prompts_state_;
  std::map<int64_t, OpenStep> open_steps_;        // by step
  std::unique_ptr<Communicator> training_ended_;  // signals the end of training; set only with async rollout
};

}  // namespace roll
