// Root configuration of `roll train`: ROLL's RLVR keys. Members have the names of their keys; fields() (in config.cpp)
// declares them, each with a help text, which `roll keys NAME` prints. Members marked "not a key" are filled while a
// configuration is loaded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/from_env.h"
#include "experience/config.h"
#include "loss/config.h"
#include "reward/config.h"
#include "settings/agentic_config.h"
#include "settings/checkpoint_config.h"
#include "settings/rollout_mock.h"
#include "settings/worker_config.h"
#include "track/config.h"

namespace roll {

struct Node;

/// Reward of one domain, and its judging model if the reward type needs one.
struct RewardWorkerConfig {
  RewardArgs reward;
  WorkerConfig model;  // keys of the judging model; read only if has_own_model()
  /// True if an LLM judges this domain with the model of the key reward_model, which several domains share.
  bool shares_model() const {
    const auto* judge = reward.type ? std::get_if<LlmJudgeArgs>(&*reward.type) : nullptr;
    return judge && judge->judge_model_type == JudgeModelType::kCluster;
  }
  /// True if the reward needs a model and `model` describes it.
  bool has_own_model() const { return reward.type && needs_model(*reward.type) && !shares_model(); }
  void fields(Keys& v);
};

/// A model from which the policy is distilled.
struct TeacherConfig {
  WorkerConfig model{.duties = {.forwards = true}};
  std::optional<double> opd_kl_coef;      // weight of the KL to this teacher
  std::vector<std::string> tag_included;  // tags or domains that it teaches; empty: all
  std::vector<std::string> domains;       // not a key: names of the domains in tag_included; empty: all
  void fields(Keys& v);
};

struct Config {
  std::string exp_name = "rlvr";
  int64_t seed = 42;
  bool deterministic = false;
  std::string output_dir = "./output";
  std::optional<std::string> logging_dir;
  std::optional<int64_t> max_steps = 500;  // null: num_train_epochs passes over the rows
  std::optional<int64_t> num_train_epochs;
  int64_t eval_steps = 10;
  int64_t logging_steps = 1;
  CheckpointConfig checkpoints;
  TrackConfig track;
  std::optional<std::string> hostfile;
  std::map<std::string, std::string> system_envs;
  FromEnv from_env;  // not a key: values read from ${oc.env:NAME}; resolved_yaml() writes that form again
  int64_t rollout_batch_size = 128;
  int64_t prompt_length = 1024;
  std::optional<int64_t> response_length;                         // if unset, filled from sequence_length
  std::optional<int64_t> sequence_length;                         // if unset, filled from response_length
  std::optional<int64_t> val_prompt_length, val_sequence_length;  // if unset, filled from the keys without "val_"
  int64_t num_return_sequences_in_group = 1;
  int64_t max_running_requests = 128;
  bool is_use_additional_prompts = false;
  std::optional<bool> use_additional_prompts;
  int64_t max_additional_running_prompts = 16;
  double async_generation_ratio = 0;
  std::optional<std::string> pretrain, reward_pretrain;
  int64_t ppo_epochs = 1;
  double max_grad_norm = 1;
  int64_t critic_warmup = 0;
  std::optional<bool> enable_reference, enable_old_logprobs_recompute;
  std::optional<bool> routing_replay;  // if unset, filled by complete()
  LossConfig loss;
  ExperienceConfig experience;
  AgenticConfig agentic;
  std::optional<std::string> global_template;
  std::map<std::string, std::string> tag_to_template;
  std::optional<std::string> rollout_dump_dir, rollout_replay;
  std::optional<bool> rollout_only;  // if unset, filled by complete()
  bool dump_experience = false;
  int64_t dump_samples = 4;
  RolloutMock rollout_mock;
  bool offload = false;
  int64_t max_restarts = 0;
  int64_t max_nonfinite_updates = 3;
  WorkerConfig actor_train{
      .duties = {.trains = true, .is_policy = true, .forwards = true, .has_data = true, .routes = true, .leads = true}};
  WorkerConfig actor_infer{.duties = {.samples = true, .routes = true}};
  WorkerConfig reference{.duties = {.forwards = true}};
  std::map<std::string, TeacherConfig> teacher;
  std::optional<double> opd_kl_coef;
  std::string pure_opd_pipeline_type = "rlvr";
  WorkerConfig critic{.duties = {.trains = true, .forwards = true}};
  WorkerConfig validation{.duties = {.has_model = false, .samples = true, .has_data = true, .has_sets = true}};
  std::map<std::string, RewardWorkerConfig> rewards;
  WorkerConfig reward_model{.duties = {.samples = true, .has_data = true}};

  /// False for a run that only samples (settings/rollout_only.h).
  bool trains() const { return !rollout_only.value_or(false); }
  bool uses_critic() const { return trains() && experience.adv_estimator->needs_values; }
  /// True if the policy is trained towards teachers.
  bool distils() const { return trains() && experience.distils(); }
  /// Tokens of the longest sequence of training and validation; 0 before complete() has filled the lengths.
  int64_t longest_sequence() const { return std::max(sequence_length.value_or(0), val_sequence_length.value_or(0)); }
  /// True if a loss, a reward or enable_reference needs the KL to the reference. Runs with teachers have no reference.
  bool uses_reference() const {
    return trains() && !distils() &&
           (enable_reference.value_or(false) || loss.use_kl_loss || experience.penalises_kl());
  }
  /// True for async rollout: part of a step is sampled while earlier steps train.
  bool samples_ahead() const { return trains() && async_generation_ratio > 0; }
  /// True if the validation has rows or environments besides its named sets.
  bool validates_rows() const { return !validation.data_args.file_name.empty() || agentic.validates(); }
  /// True if the run has a validation.
  bool validates() const { return validates_rows() || !validation.sets.empty(); }
  /// Prompts of a step, over all ranks; in environments its levels, because rollout_batch_size then counts
  /// trajectories.
  int64_t prompts_per_step() const {
    return agentic.is_used() ? rollout_batch_size / num_return_sequences_in_group : rollout_batch_size;
  }
  /// Prompts that each domain with a group filter may sample at once beyond those that the step still needs; 0: none.
  int64_t additional_prompts() const { return is_use_additional_prompts ? max_additional_running_prompts : 0; }
  /// Returns an upper bound of the prompts that a step samples at once, over all ranks.
  int64_t most_prompts() const {
    const auto drops = [](const auto& domain) {
      return domain.second.reward.query_filter_config.type != QueryFilter::kNone;
    };
    return prompts_per_step() + additional_prompts() * std::ranges::count_if(rewards, drops);
  }
  /// Steps of the run: max_steps. 1 while max_steps is null, that is, until the run has set it by count_steps().
  int64_t num_steps() const { return max_steps.value_or(1); }
  /// Responses (in environments: trajectories) that a step trains on, over all ranks.
  int64_t sequences_per_step() const { return prompts_per_step() * num_return_sequences_in_group; }
  /// Responses sampled per prompt: the trained ones, and a greedy one if it gives the reward's baseline.
  int64_t samples_per_prompt() const {
    return num_return_sequences_in_group + (experience.adv_estimator->samples_baseline ? 1 : 0);
  }

  /// Rewrites ROLL's spellings in the parsed file `tree`: student_train and student_infer become actor_train and
  /// actor_infer, a single teacher becomes teacher.default. Adds rewards of environments (settings/agentic.h), and to
  /// `notes` a line about renamed keys. Throws UserError if the file has both names of a key.
  static void rewrite(Node& tree, std::vector<std::string>& notes);

  void fields(Keys& v);

 private:
  void run_fields(Keys& v);
  void step_fields(Keys& v);
};

}  // namespace roll
