#include "settings/agentic_config.h"

#include "config/keys.h"

namespace roll {

void EnvManagerConfig::fields(Keys& v) {
  v("tags", tags, "names of custom_envs that are played");
  v("num_env_groups", num_env_groups, "groups that num_groups_partition shares out", sequence_range());
  v("group_size", group_size, "trajectories of each level: a group", sequence_range());
  v("num_groups_partition", num_groups_partition, "groups of each tag; empty: equally many", within(0, 1'000'000));
  v("num_levels", num_levels, "levels of all tags; null: in training 2048, in the validation val_batch_size's",
    within(1, 10'000'000));
  v("format_penalty", format_penalty, "reward of a turn without an action, where env_config has none",
    within(-1'000'000, 1'000'000));
  v("generating_args", generating_args, "the sampling of a turn; null: actor_infer's");
  v.noted(
      {"max_env_num_per_worker", "max_traj_per_env", "worker_cls", "name", "world_size", "model_args", "system_envs",
       "num_gpus_per_worker", "device_mapping", "strategy_args", "data_args", "group_size_redundancy"},
      "environments live beside the sampler, and a step has as many as rollout_batch_size says");
  v.noted({"group_filter_cls"}, "rewards.<tag>.query_filter_config drops groups");
  v.refused({"llm_proxy"}, "the policy itself plays; remove it");
}

void RewardNormalization::fields(Keys& v) {
  v("grouping", grouping, "over which trajectories rewards are normalised: a group, the batch, those of a tag");
  v("method", method, "identity: not at all; mean: their mean is taken off; mean_std: and their deviation divided by");
  v("norm_mean_type", norm_mean_type, "another place of norm_mean_type");
  v("norm_std_type", norm_std_type, "another place of norm_std_type");
}

void AgenticConfig::fields(Keys& v) {
  v("custom_envs", custom_envs, "the environments, by tag");
  v("train_env_manager", train_env_manager, "what training plays; then rollout_batch_size counts trajectories");
  v("val_env_manager", val_env_manager, "what the validation plays");
  v("val_batch_size", val_batch_size, "trajectories of a validation; -1: num_env_groups x group_size",
    within(-1, 10'000'000));
  v("reward_normalization", reward_normalization, "ROLL's words for norm_mean_type and norm_std_type");
  v.noted({"custom_env",
           "gem_*",
           "game_agent_*",
           "rg_agent_*",
           "math_agent_*",
           "qa_agent_*",
           "code_agent_*",
           "max_tokens_per_step",
           "max_actions_per_traj",
           "env_manager_cls",
           "action_pattern",
           "think_action_pattern",
           "all_response_pattern",
           "agent_system_template",
           "agent_template",
           "single_prompt_agent_system_template",
           "single_prompt_agent_template",
           "sokoban_format_penalty",
           "frozen_format_penalty",
           "webshop_format_penalty",
           "default_history_length",
           "agent_template_no_history"},
          "only a value for ${...}; custom_envs decides");
  v.noted({"agent_runner_cls", "render_save_dir", "batch_adjust_mode", "skip_mock_system_prompt"},
          "levels are text, batches are whole, and templates are used as they are");
}

}  // namespace roll
