// Samples the responses of each step, for the training pipelines: owns the prompt stream, opens the sampler with the
// trainer's weights, and samples ahead while others train. Version v is the weights after v steps; step s is meant to
// use version s-1. With async_generation_ratio r, the sampler may begin up to r steps' worth of later groups with the
// same version while the next one is trained. These are paused when newer weights arrive, and resume with those.
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
    std::optional<PromptStream> prompts;  // unset under rollout_replay
    int64_t prompts_per_step = 0;
    std::map<std::string, RowStore> validations;  // rows of each validation set in the plan
  };
  /// `worker`: null if this rank has no sampler. **Collective** over the world. All references must outlive the
  /// manager.
  RolloutManager(SamplingPlan plan, Data data, PolicyEngine& engine, RolloutWorker* worker, RewardModels& reward_models,
                 Communicator& world);

  /// Completes the step and returns what this rank sampled for it. `metrics`: gets metrics of all ranks. **Collective**
  /// over the world. Throws Stopped on all ranks if a stop was requested. UserError: see GroupQuota::add().
  std::vector<RolloutRecord> step(int64_t step, Metrics& metrics);
  /// Samples `count` rows of a validation set from row `first` on; returns this rank's records. **Collective** over the
  /// world. Stopped: see step().
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set, int64_t first, int64_t count);
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set) {
    return validation(step, set, 0, set_rows(set).size());
  }
  const RowStore& set_rows(const SetPlan& set) const { return validations_.at(set.name); }
  /// Samples later steps on ranks that only sample, while others train on `step`; the others call this after training.
  /// **Collective** over the world.
  void run_ahead(int64_t step);
  /// Ends sampling; must be called before anything else uses the devices.
  void close() { engine_.close(); }

  /// State of the prompt stream at the start of the next step, whatever runs ahead; null without prompts.
  const Json& prompts_state() const { return prompts_state_; }
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
