#include "settings/describe_algorithm.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <regex>

#include "base/error.h"
#include "settings/load_config.h"

namespace roll {

namespace {

/// All that tests/config/roll_recipe.yaml has of its own, back at the defaults.
const std::vector<std::string> kPlain = {"adv_estimator=reinforce", "~whiten_advantages",      "norm_mean_type=null",
                                         "norm_std_type=null",      "use_pg_clip_range=false", "dual_clip_loss=false",
                                         "max_len_mask=false",      "use_kl_loss=false",       "kl_loss_coef=0",
                                         "pg_clip_high=0.2"};

std::string algorithm_of(const std::vector<std::string>& keys) {
  std::vector<std::string> overrides = kPlain;
  for (const std::string& key : keys) {
    const std::string name = key.substr(0, key.find('=') + 1);
    std::erase_if(overrides, [&](const std::string& plain) { return plain.starts_with(name); });
    overrides.push_back(key);
  }
  const std::string recipe = std::string(ROLL_SOURCE_DIR) + "/tests/config/roll_recipe.yaml";
  return load_config(recipe, overrides, {.num_ranks = {}, .offline = true}).algorithm;
}

const std::vector<std::string> kGrpo = {"adv_estimator=grpo", "use_kl_loss=true", "kl_loss_coef=0.001"};
const std::vector<std::string> kDapo = {"adv_estimator=grpo",
                                        "loss_agg_mode=token-mean",
                                        "use_pg_clip_range=true",
                                        "pg_clip_high=0.28",
                                        "rewards.math_rule.query_filter_config.type=mean_filter",
                                        "rewards.math_rule.overlong_buffer={enable: true, len: 4}"};
const std::vector<std::string> kEnvironments = {
    "rewards=null", "actor_train.data_args=null", "validation=null",
    "train_env_manager={tags: [Lake], num_env_groups: 128, group_size: 8}",
    "custom_envs={Lake: {env_type: frozen_lake, max_steps: 3, env_config: {is_slippery: false}}}"};

std::string with(std::vector<std::string> keys, const std::vector<std::string>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return algorithm_of(keys);
}

}  // namespace

TEST_CASE("every row of the table in configs/algorithms/README.md is the algorithm that it says", "[train]") {
  std::ifstream table(std::string(ROLL_SOURCE_DIR) + "/configs/algorithms/README.md");
  const std::regex key("`([^`=]+=[^`]*)`"), domain("<domain>");
  int num_rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("| ") || line.starts_with("| algorithm") || line.starts_with("| recipe")) continue;
    std::vector<std::string> keys;
    for (std::sregex_iterator found(line.begin(), line.end(), key), end; found != end; ++found)
      keys.push_back(std::regex_replace((*found)[1].str(), domain, "math_rule"));
    const std::string name = line.substr(2, line.find(" | ", 2) - 2);
    if (name.starts_with("GiGPO")) keys.insert(keys.end(), kEnvironments.begin(), kEnvironments.end());
    if (name.starts_with("OPO")) keys.emplace_back("rollout_batch_size=64");  // x 8: the mini-batch
    CHECK(algorithm_of(keys) == "algorithm: " + name);
    ++num_rows;
  }
  CHECK(num_rows == 32);
}

TEST_CASE("what others have added to an algorithm is named beside it", "[train]") {
  CHECK(with(kGrpo, {"use_pg_clip_range=true", "pg_clip_high=0.28"}) ==
        "algorithm: GRPO (Shao et al. 2024) with DAPO's clip-higher");
  CHECK(with(kDapo, {"max_len_mask=true", "dual_clip_loss=true"}) ==
        "algorithm: DAPO (Yu et al. 2025) with truncated responses masked and the dual clip of Ye et al. 2020");
  CHECK(algorithm_of({"adv_estimator=gae", "lambd_critic=1", "positive_loss_coef=0.1", "entropy_loss_coef=0.01"}) ==
        "algorithm: PPO as in ROLL (Schulman et al. 2017, each sequence's mean) with VC-PPO's targets of the critic, "
        "with lambda 1, VAPO's positive-example loss and an entropy bonus");
  CHECK(with(kGrpo, {"whiten_advantages=true", "train_infer_correction={is_weight: {enabled: true}}"}) ==
        "algorithm: GRPO (Shao et al. 2024) with truncated importance sampling (Yao et al. 2025) and whitened "
        "advantages");
}

TEST_CASE("near misses are told with the key that differs", "[train]") {
  struct Miss {
    std::vector<std::string> keys;
    std::string text;
  };
  const auto of = [](std::vector<std::string> keys, const std::vector<std::string>& more) {
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  };
  const std::vector<Miss> misses = {
      {of(kGrpo, {"loss_agg_mode=prompt-mean"}),
       "nearest to GRPO (Shao et al. 2024), which has the mean of each sequence's mean (here loss_agg_mode = "
       "prompt-mean)"},
      {{"adv_estimator=grpo"},
       "nearest to GRPO (Shao et al. 2024), which has the KL to the reference in the loss (here "
       "use_kl_loss = false, add_token_level_kl = false, kl_penalty = kl)"},
      {of(kDapo, {"rewards.math_rule.query_filter_config.type=no_filter"}),
       "nearest to DAPO (Yu et al. 2025), which has DAPO's dynamic sampling (here "
       "rewards.math_rule.query_filter_config.type = no_filter)"},
      {of(kDapo, {"rewards.math_rule.overlong_buffer.enable=false"}),
       "nearest to DAPO (Yu et al. 2025), which has DAPO's overlong reward shaping (here "
       "rewards.math_rule.overlong_buffer.enable = false)"},
      {of(kDapo, {"pg_clip_high=0.2"}), "which has DAPO's clip-higher (here the ratio is kept in 0.8..1.2)"},
      {of(kDapo, {"use_kl_loss=true", "kl_loss_coef=0.1"}),
       "nearest to DAPO (Yu et al. 2025), which has no KL to a reference (here use_kl_loss = true, "
       "add_token_level_kl = false, kl_penalty = kl); added to it: the KL to the reference in the loss"},
      {{"adv_estimator=opo", "actor_train.pg_variant=vanilla", "loss_agg_mode=seq-mean-token-sum"},
       "nearest to OPO (Hao et al. 2025), which has one update a step (here a step makes several updates)"},
      {{"adv_estimator=rloo", "loss_agg_mode=seq-mean-token-sum", "add_token_level_kl=true", "init_kl_coef=0.1"},
       "nearest to RLOO (Ahmadian et al. 2024), which has the policy gradient itself (here actor_train.pg_variant = "
       "ppo, importance_sampling = token)"},
      {{"actor_train.pg_variant=topr_response", "loss_agg_mode=seq-mean-token-sum"},
       "nearest to TOPR (Le Roux et al. 2025), which has rewards below 0 for wrong responses (here reward_baseline = "
       "0)"},
      {of(kGrpo, {"kl_loss_penalty=mse"}),
       "nearest to GRPO (Shao et al. 2024), which has k3 as its estimate of the KL in the loss (here kl_loss_penalty = "
       "mse)"},
      {{"adv_estimator=remax"},
       "nearest to ReMax (Li et al. 2023), which has the policy gradient itself (here actor_train.pg_variant = ppo, "
       "importance_sampling = token) and the mean of each sequence's sum (here loss_agg_mode = seq-mean-token-mean)"},
      {{"adv_estimator=reinforce_plus_plus"},
       "nearest to REINFORCE++ (Hu et al. 2025), which has the KL to the "
       "reference in the rewards of tokens (here"},
      {{"norm_mean_type=batch", "norm_std_type=batch", "actor_train.pg_variant=vanilla"},
       "nearest to REINFORCE as in ROLL (Williams 1992, each sequence's mean), which has rewards as they are, or less "
       "a "
       "constant (here adv_estimator = reinforce, norm_mean_type = batch, norm_std_type = batch, whiten_advantages = "
       "false)"},
  };
  for (const Miss& miss : misses) {
    CAPTURE(miss.keys);
    CHECK_THAT(algorithm_of(miss.keys), Catch::Contains(miss.text));
  }
}

TEST_CASE("at the policy that sampled, PPO's loss is the policy gradient", "[train]") {
  const std::vector<std::string> rloo = {"adv_estimator=rloo", "loss_agg_mode=seq-mean-token-sum",
                                         "add_token_level_kl=true", "init_kl_coef=0.1"};
  CHECK(with(rloo, {"rollout_batch_size=64"}) == "algorithm: RLOO (Ahmadian et al. 2024)");
  CHECK(with(rloo, {"importance_sampling=manual_on_policy"}) == "algorithm: RLOO (Ahmadian et al. 2024)");
}

TEST_CASE("a loss of one's own is no published algorithm", "[train]") {
  CHECK(algorithm_of({"actor_train.loss_func={library: libx.so, name: mine}"}) ==
        "algorithm: the loss mine of libx.so");
}

}  // namespace roll
