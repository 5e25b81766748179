#include "settings/agentic_config.h"

#include "config/keys.h"

namespace roll {

void EnvManagerConfig::fields(Keys& v) {
  v("tags", tags, "names of the custom_envs to play");
  v("num_env_groups", num_env_groups, "number of groups, which num_groups_partition splits over the tags",
    sequence_range());
  v("group_size", group_size, "trajectories per level; they form a group", sequence_range());
  v("num_groups_partition", num_groups_partition, "groups per tag; empty: the same number for each tag",
    within(0, 1'000'000));
  v("num_levels", num_levels,
    "levels of all tags together; null: 2048 in training, as many as val_batch_size needs in the validation",
    within(1, 10'000'000));
  v("format_penalty", format_penalty, "reward of a turn without an action, if env_config sets no format_penalty",
    within(-1'000'000, 1'000'000));
  v("generating_args", generating_args, "sampling of a turn; null: as for actor_infer");
  v.noted(
      {"max_env_num_per_worker", "max_traj_per_env", "worker_cls", "name", "world_size", "model_args", "system_envs",
       "num_gpus_per_worker", "device_mapping", "strategy_args", "data_args", "group_size_redundancy"},
      "environments run beside the sampler, and rollout_batch_size sets their number in a step");
  v.noted({"group_filter_cls"}, "rewards.<tag>.query_filter_config drops groups");
  v.refused({"llm_proxy"}, "the policy itself plays; remove it");
}

void RewardNormalization::fields(Keys& v) {
  v("grouping", grouping, "trajectories over which rewards are normalised: a group, the batch, or a tag");
  v("method", method,
    "identity: no normalisation; mean: subtract the mean; mean_std: subtract the mean and divide by the deviation");
  v("norm_mean_type", norm_mean_type, "another spelling of norm_mean_type");
  v("norm_std_type", norm_std_type, "another spelling of norm_std_type");
}

void AgenticConfig::fields(Keys& v) {
  v("custom_envs", custom_envs, "the environments, by tag");
  v("train_env_manager", train_env_manager, "environments of training; if set, rollout_batch_size counts trajectories");
  v("val_env_manager", val_env_manager, "environments of the validation");
  v("val_batch_size", val_batch_size, "trajectories of a validation; -1: num_env_groups x group_size",
    within(-1, 10'000'000));
  v("reward_normalization", reward_normalization, "ROLL's spelling of norm_mean_type and norm_std_type");
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
