// Where a step's responses come from: the sampler with the trainer's weights, the prompts, and what is sampled while
// others train. Version v of the weights is that after v steps, so version s - 1 is meant to sample step s; with
// async_generation_ratio r, while version v trains on, what samples may begin the first r steps' worth of groups that
// it is not meant for. What was begun is paused when newer weights are there, and goes on with them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "data/prompt_stream.h"
#include "train/collect.h"
#include "train/offload.h"
#include "train/roles.h"

namespace roll {

class Sampling {
 public:
  struct Data {
    std::optional<PromptStream> prompts;   // none under rollout_replay
    std::map<std::string, int64_t> quota;  // groups of each domain in a step
    std::vector<Row> validation;
  };
  /// **Collective** over the world. All references must outlive it. UserError: a reward that cannot be made.
  Sampling(const Config& config, Data data, const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes,
           RewardModels& reward_models, Offload& offload, Communicator& world, Log& log);

  /// What this rank sampled for the step, which is complete then; metrics of all. **Collective** over the world.
  /// Stopped, on all ranks, when one was asked to; UserError as GroupQuota's.
  std::vector<RolloutRecord> step(int64_t step, Metrics& metrics);
  /// What it sampled of all rows of the validation. Likewise.
  std::vector<RolloutRecord> validation(int64_t step);
  bool validates() const { return !validation_rows_.empty(); }
  /// What samples does not wait for those that train on `step`: those call it when they have. **Collective** over the
  /// world.
  void run_ahead(int64_t step);
  /// Before anything but sampling happens on the devices.
  void close();

  /// Where the prompts of the step stand that comes next, whatever runs ahead; null where there are none.
  const Json& prompts_state() const { return prompts_state_; }
  void load_prompts_state(const Json& state);

 private:
  /// A step under way.
  struct Ahead {
    GroupQuota quota;
    std::unique_ptr<CollectJob> job{};
    std::optional<std::vector<RolloutRecord>> records{};  // once all is there
    Json prompts_state{};                                 // then
  };
  void open();
  bool samples_baseline() const { return config_.experience.adv_estimator->samples_baseline; }
  Ahead& begun(int64_t step);
  void finish(Ahead& ahead);
  std::vector<RolloutRecord> sampled(int64_t step, Metrics& metrics);

  const Config& config_;
  const Tokenizer& tokenizer_;
  Roles& roles_;
  const RoleMeshes& meshes_;
  RewardModels& reward_models_;
  Offload& offload_;
  Communicator& world_;
  std::map<std::string, int64_t> quota_;
  std::vector<Row> validation_rows_;
  std::optional<PromptStream> prompts_;
  Json prompts_state_;
  std::map<int64_t, Ahead> ahead_;      // by step
  std::optional<Collector> collector_;  // where the sampler lives
  std::optional<Engine> engine_;        // there, of the policy's weights as they are
  std::unique_ptr<Communicator> bell_;  // rung by those that have trained; only where sampling runs ahead
  bool is_open_ = false;                // whether sampler and devices are ready for it
};

}  // namespace roll
