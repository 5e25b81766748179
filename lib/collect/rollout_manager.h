// Where a step's responses come from: the sampler with the trainer's weights, the prompts, and what is sampled while
// others train. Version v of the weights is that after v steps, so version s - 1 is meant to sample step s; with
// async_generation_ratio r, while version v trains on, what samples may begin the first r steps' worth of groups that
// it is not meant for. What was begun is paused when newer weights are there, and goes on with them.
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
    std::optional<PromptStream> prompts;  // none under rollout_replay
    int64_t prompts_per_step = 0;
    std::map<std::string, RowStore> validations;  // of each set of the plan
  };
  /// `worker`: null where the sampler does not live. **Collective** over the world. All references must outlive it.
  RolloutManager(SamplingPlan plan, Data data, PolicyEngine& engine, RolloutWorker* worker, RewardModels& reward_models,
                 Communicator& world);

  /// What this rank sampled for the step, which is complete then; metrics of all. **Collective** over the world.
  /// Stopped, on all ranks, when one was asked to; UserError as GroupQuota's.
  std::vector<RolloutRecord> step(int64_t step, Metrics& metrics);
  /// What this rank sampled of a set of the plan, of `count` of its rows from `first` on. **Collective** over the
  /// world. Stopped as step().
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set, int64_t first, int64_t count);
  std::vector<RolloutRecord> validation(int64_t step, const SetPlan& set) {
    return validation(step, set, 0, rows_of(set).size());
  }
  const RowStore& rows_of(const SetPlan& set) const { return validations_.at(set.name); }
  /// Ranks that only sample begin later steps while others train on `step`, which call this when they have trained.
  /// **Collective** over the world.
  void run_ahead(int64_t step);
  /// Ends sampling, to be called before anything else happens on the devices.
  void close() { engine_.close(); }

  /// Where the prompts of the step stand that comes next, whatever runs ahead; null where there are none.
  const Json& prompts_state() const { return prompts_state_; }
  void load_prompts_state(const Json& state);

 private:
  /// A step under way.
  struct Ahead {
    GroupQuota quota;
    std::unique_ptr<RolloutJob> job{};
    std::optional<std::vector<RolloutRecord>> records{};  // once all is there
    Json prompts_state{};                                 // then, as
    std::map<std::string, int64_t> passed_over{};         // rows of each domain
  };
  Ahead& begun(int64_t step);
  void finish(Ahead& ahead);
  std::vector<RolloutRecord> sampled(int64_t step, Metrics& metrics);

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
  std::map<int64_t, Ahead> ahead_;                // by step
  std::unique_ptr<Communicator> training_ended_;  // rung by those that have trained; only where sampling runs ahead
};

}  // namespace roll
