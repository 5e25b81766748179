// The keys of the estimators and losses beside PPO and GRPO: what they complete, and what they refuse.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "settings/load_config.h"

namespace roll {

namespace {

/// tests/config/roll_recipe.yaml, without what the estimators decide.
CheckedConfig<Config> unopinionated(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"~norm_mean_type", "~norm_std_type", "~whiten_advantages"});
  return load_config(std::string(ROLL_SOURCE_DIR) + "/tests/config/roll_recipe.yaml", overrides,
                     {.num_ranks = {}, .offline = true});
}

std::string complaint_of(const std::vector<std::string>& overrides) {
  try {
    load_config(std::string(ROLL_SOURCE_DIR) + "/tests/config/roll_recipe.yaml", overrides,
                {.num_ranks = {}, .offline = true});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what an estimator does by itself stands in the resolved configuration, which loads again", "[train]") {
  const auto of = [](const std::string& estimator) {
    return unopinionated({"adv_estimator=" + estimator}).config.experience;
  };
  CHECK(of("reinforce_plus_plus_baseline").norm_mean_type == NormType::kGroup);
  CHECK_FALSE(of("reinforce_plus_plus_baseline").norm_std_type);
  CHECK(of("reinforce_plus_plus_baseline").whiten_advantages);
  CHECK(of("reinforce_plus_plus").whiten_advantages);
  CHECK_FALSE(of("reinforce_plus_plus").norm_mean_type);
  CHECK_FALSE(of("rloo").whiten_advantages);
  CHECK(unopinionated({"positive_loss_coef=0.1"}).config.loss.loss_mask_keys ==
        std::vector<std::string>{"response_mask", "final_response_mask", "positive_response_mask"});
  CHECK(unopinionated({}).config.loss.loss_mask_keys.size() == 2);
  const test::TemporaryFolder folder;
  for (const char* estimator : {"reinforce_plus_plus_baseline", "reinforce_plus_plus", "remax", "gpg"}) {
    const std::string first =
        resolved_yaml(unopinionated({fmt::format("adv_estimator={}", estimator), "positive_loss_coef=0.1"}).config);
    const auto file = folder.path() / "resolved.yaml";
    std::ofstream(file) << first;
    CHECK(resolved_yaml(load_config(file, {}, {.num_ranks = {}, .offline = true}).config) == first);
  }
}

TEST_CASE("greedy responses are in the plan and in the estimate of memory", "[train]") {
  const auto with = unopinionated({"adv_estimator=remax"}), without = unopinionated({"adv_estimator=reinforce"});
  CHECK_THAT(
      with.plan,
      Catch::Contains("= 1024 sequences a step; 8 data-parallel ranks; 500 steps\n128 greedy responses in addition, "
                      "one per prompt; only their rewards are used\nactor_train: 2 updates of 512 sequences"));
  CHECK_THAT(without.plan, !Catch::Contains("greedy"));
  CHECK(with.config.samples_per_prompt() == 9);
  CHECK(without.config.samples_per_prompt() == 8);
}

TEST_CASE("keys at odds with an estimator or a policy loss are refused with both names", "[train]") {
  struct Odds {
    std::vector<std::string> overrides;
    std::string message;
  };
  const std::vector<std::string> alone = {"num_return_sequences_in_group=1",
                                          "actor_infer.generating_args.num_return_sequences=1"};
  const auto alone_with = [&](const std::string& estimator) {
    auto overrides = alone;
    overrides.push_back("adv_estimator=" + estimator);
    return overrides;
  };
  const std::vector<Odds> all = {
      {{"adv_estimator=reinforce_plus_plus_baseline"},
       "norm_mean_type = batch: adv_estimator = reinforce_plus_plus_baseline uses the group's mean; remove this"},
      {{"adv_estimator=remax"}, "norm_mean_type = batch: adv_estimator = remax subtracts the reward of a greedy"},
      {{"adv_estimator=reinforce_plus_plus", "whiten_advantages=false"},
       "whiten_advantages = false: adv_estimator = reinforce_plus_plus whitens advantages; remove this"},
      {alone_with("rloo"), "adv_estimator = rloo: compares the responses of one prompt"},
      {alone_with("opo"), "adv_estimator = opo: compares the responses of one prompt"},
      {alone_with("gdpo"), "adv_estimator = gdpo: compares the responses of one prompt"},
      {alone_with("optimal_token_baseline"), "optimal_token_baseline: compares the responses of one prompt"},
      {{"adv_estimator=optimal_token_baseline", "enable_old_logprobs_recompute=false", "rollout_batch_size=64"},
       "enable_old_logprobs_recompute = false: adv_estimator = optimal_token_baseline reads token energies"},
      {{"adv_estimator=gdpo"}, "norm_mean_type = batch: adv_estimator = gdpo uses the group's mean"},
      {alone_with("gpg"), "adv_estimator = gpg: compares the responses of one prompt"},
      {alone_with("reinforce_plus_plus_baseline"), "compares the responses of one prompt"},
      {{"actor_train.pg_variant=gmpo", "importance_sampling=seq"},
       "importance_sampling = seq: actor_train.pg_variant = gmpo uses a mean of token ratios instead; remove this"},
      {{"actor_train.pg_variant=topr_response", "importance_sampling=seq"},
       "importance_sampling = seq: actor_train.pg_variant = topr_response uses a ratio of the whole response "
       "instead"},
      {{"actor_train.pg_variant=kimi15_response", "importance_sampling=manual_on_policy"}, "of the whole response"},
      {{"critic.gmpo_epsilon_low=1", "lambd_alpha=0"}, "lambd_alpha = 0: must be"},
      {{"lambd_critic=1.5"}, "lambd_critic = 1.5: must be"},
      {{"positive_loss_coef=-1"}, "positive_loss_coef = -1: must be"},
      {{"actor_train.gmpo_epsilon_high=-1"}, "gmpo_epsilon_high = -1: must be"},
  };
  for (const Odds& odds : all) {
    CAPTURE(odds.overrides);
    CHECK_THAT(complaint_of(odds.overrides), Catch::Contains(odds.message));
  }
  std::vector<std::string> no_group = alone_with("remax");
  for (const char* key : {"~norm_mean_type", "~norm_std_type", "difficulty_mask=false", "rollout_batch_size=1024"})
    no_group.emplace_back(key);
  CHECK(complaint_of(no_group).empty());  // its baseline is no response of the group
}

namespace {

std::string notes_of(std::vector<std::string> overrides) {
  try {
    return fmt::format("{}", fmt::join(unopinionated(std::move(overrides)).notes, "\n"));
  } catch (const UserError& error) {  // an idle key that was typed
    return error.what();
  }
}

}  // namespace

TEST_CASE("keys of another policy loss, and a baseline that is taken off again, are named", "[train]") {
  CHECK_THAT(notes_of({"actor_train.kimi15_tau=0.2"}),
             Catch::Contains("kimi15_tau = 0.2 has no effect, because of actor_train.pg_variant = ppo"));
  CHECK_THAT(notes_of({"actor_train.pg_variant=kimi15_response", "actor_train.kimi15_tau=0.2"}),
             !Catch::Contains("kimi15_tau"));
  CHECK_THAT(notes_of({"actor_train.pg_variant=topr_response", "actor_train.topr_negative_weight=2"}),
             Catch::Contains("topr_negative_weight = 2 has no effect"));
  CHECK_THAT(notes_of({"adv_estimator=rloo", "reward_baseline=0.5"}),
             Catch::Contains("reward_baseline = 0.5 has no effect, because of adv_estimator = rloo"));
  CHECK_THAT(notes_of({"adv_estimator=reinforce", "norm_mean_type=batch", "reward_baseline=0.5"}),
             Catch::Contains("reward_baseline = 0.5 has no effect, because of norm_mean_type = batch"));
  CHECK_THAT(notes_of({"adv_estimator=reinforce", "reward_baseline=0.5"}), !Catch::Contains("reward_baseline"));
}

TEST_CASE("an estimate of the KL whose gradient is zero in expectation is noted where it is in the loss", "[train]") {
  const char* const said = "kl_loss_penalty = kl: on the policy's own samples the gradient of this estimate is zero";
  const std::vector<std::string> in_loss = {"use_kl_loss=true", "kl_loss_coef=0.1"};
  const auto notes_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), in_loss.begin(), in_loss.end());
    return notes_of(std::move(more));
  };
  CHECK_THAT(notes_with({"kl_loss_penalty=kl"}), Catch::Contains(said));
  for (const char* other : {"mse", "k3", "abs"})
    CHECK_THAT(notes_with({fmt::format("kl_loss_penalty={}", other)}), !Catch::Contains(said));
  CHECK_THAT(notes_of({"kl_loss_penalty=kl", "use_kl_loss=false"}), !Catch::Contains(said));
}

TEST_CASE("TOPR of rewards of one sign is said to be REINFORCE", "[train]") {
  const auto topr = [](std::vector<std::string> more) {
    more.insert(more.end(), {"adv_estimator=reinforce", "use_kl_loss=false"});
    return notes_of(std::move(more));
  };
  const char* const said = "wrong responses have no effect, as in REINFORCE; set reward_baseline = 0.5";
  for (const char* variant : {"actor_train.pg_variant=topr", "actor_train.pg_variant=topr_response"}) {
    CHECK_THAT(topr({variant}), Catch::Contains(said));
    CHECK_THAT(topr({variant, "reward_baseline=0.5"}), !Catch::Contains(said));
    CHECK_THAT(topr({variant, "norm_mean_type=group"}), !Catch::Contains(said));
  }
  CHECK_THAT(topr({"actor_train.pg_variant=vanilla"}), !Catch::Contains(said));
}

TEST_CASE("what sampling ahead does not do is noted, and it needs no old log-probs", "[train]") {
  const auto ahead = [](double ratio, std::vector<std::string> more) {
    more.insert(more.end(), {fmt::format("async_generation_ratio={}", ratio), "rollout_batch_size=64",
                             "actor_infer.device_mapping=[8, 9]", "enable_old_logprobs_recompute=false"});
    return notes_of(std::move(more));
  };
  const char *const unweighed = "nothing corrects", *const none = "nothing is sampled ahead";
  const std::string one_update = ahead(1, {});
  CHECK_THAT(one_update, Catch::Contains(unweighed) && !Catch::Contains(none));
  CHECK_THAT(ahead(0.01, {}), Catch::Contains(none));
  CHECK_THAT(notes_of({"async_generation_ratio=0"}), !Catch::Contains(unweighed) && !Catch::Contains(none));
  CHECK_THAT(notes_of({"async_generation_ratio=1", "actor_infer.device_mapping=[8, 9]",
                       "train_infer_correction={is_weight: {enabled: true}}"}),
             !Catch::Contains(unweighed));
  CHECK_THAT(notes_of({"actor_infer.strategy_args={strategy_config: {context_parallel_size: 2}}"}),
             Catch::Contains("context_parallel_size = 2: sampling splits no sequence over ranks"));
}

}  // namespace roll
