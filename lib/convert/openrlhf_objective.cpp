#include "convert/openrlhf_objective.h"

#include <fmt/format.h>

#include "convert/adapters.h"

namespace roll {

namespace openrlhf {
namespace {

/// Reads two bounds from "0.5 5.0" or a list.
std::pair<std::string, std::string> sequence_bounds(const Conversion& c, const char* key) {
  const std::vector<std::string> bounds = split_entries(c.text(key));
  if (bounds.size() != 2) throw c.refused(key, "must be two numbers");
  return {bounds[0], bounds[1]};
}

bool penalises_reward(const Conversion& c) {
  return c.number("init_kl_coef") > 0 && !c.is_true("use_kl_loss");
}

/// Sets importance weights, trainer over vLLM: clamped to two bounds (TIS), or 0 outside them (ICEPOP).
void combine_correction(Conversion& c) {
  if (!c.is_true("enable_vllm_is_correction")) return;
  constexpr const char *kType = "vllm_is_correction_type", *kBounds = "vllm_is_truncated_threshold";
  const std::string type = c.text(kType), is_weight = "train_infer_correction.is_weight.";
  if (c.text("policy_loss_type") == "gspo")
    throw c.refused("enable_vllm_is_correction",
                    "with policy_loss_type gspo the ratio would be to the sampler's log-probs, which is not supported");
  if (type != "tis" && type != "icepop")
    throw c.refused(kType, "a sequence mask beside token weights is not supported; use tis or icepop");
  const auto [low, high] = sequence_bounds(c, kBounds);
  c.set(is_weight + "enabled", "true", c.origin("enable_vllm_is_correction"));
  c.set(is_weight + "lower_bound", low, c.origin(kBounds));
  c.set(is_weight + "upper_bound", high, c.origin(kBounds));
  if (type == "icepop") c.set(is_weight + "zero_outside", "true", c.origin(kType));
}

void combine_advantages(Conversion& c) {
  constexpr const char* kEstimator = "advantage_estimator";
  const std::string name = c.text(kEstimator), from = c.origin(kEstimator);
  const bool discounts = name == "gae" || name == "reinforce";
  if (name == "reinforce") {
    c.set("adv_estimator", "reinforce_plus_plus", from);
  } else if (name == "reinforce_baseline") {
    c.set("adv_estimator", "reinforce_plus_plus_baseline", from);
  } else if (name == "group_norm") {
    c.set("adv_estimator", "grpo", from);
  } else if (name == "dr_grpo") {
    c.set("adv_estimator", "reinforce", from);
    c.set("norm_mean_type", "group", from);
  } else if (name == "gae" || name == "rloo") {
    c.set("adv_estimator", name, from);
  } else {
    throw c.refused(kEstimator, "not a supported estimator");
  }
  if (name == "rloo" && penalises_reward(c))
    throw c.refused("init_kl_coef",
                    "OpenRLHF's rloo compares rewards before it adds the KL, roll's afterwards; add "
                    "--use_kl_loss (the KL becomes a loss term), or set --init_kl_coef 0 (no KL)");
  if (name == "gae") c.set("whiten_advantages", "true", "always on in the source trainer");
  if (c.is_true("no_advantage_std_norm") && (discounts || name == "reinforce_baseline"))
    throw c.refused("no_advantage_std_norm",
                    "subtracting only the mean is not supported; roll also divides by the deviation");
  if (discounts)
    c.set_from("gamma", "gamma");
  else if (c.number("gamma") != 1)
    c.set("gamma", "1", "the source does not discount returns: " + from);
  const auto [low, high] = sequence_bounds(c, "reward_clip_range");
  if (!is_same(low, "-" + high))
    throw c.refused("reward_clip_range", "must be bounds of opposite sign, such as -10 10");
  c.set("reward_clip", high, c.origin("reward_clip_range"));
}

/// OpenRLHF's GSPO averages over responses, but its KL and entropy over tokens.
void combine_policy_loss(Conversion& c) {
  constexpr const char* kType = "policy_loss_type";
  const std::string type = c.text(kType);
  if (type != "ppo" && type != "gspo") throw c.refused(kType, "not a supported policy loss");
  const bool has_entropy = !c.text("entropy_loss_coef").empty() && c.number("entropy_loss_coef") != 0;
  if (type == "gspo") {
    if (has_entropy || (c.is_true("use_kl_loss") && c.number("init_kl_coef") > 0))
      throw c.refused(
          kType,
          "gspo averages over responses, the KL and entropy terms over tokens; in roll all terms share one mode");
    if (c.text("advantage_estimator") == "gae")
      throw c.refused(kType,
                      "gspo averages over responses, the critic's loss over tokens; in roll both share one mode");
    c.set("importance_sampling", "seq", c.origin(kType));
  }
  c.set("loss_agg_mode", type == "gspo" ? "seq-mean-token-mean" : "token-mean", c.origin(kType));
  if (has_entropy) c.set_from("entropy_loss_coef", "entropy_loss_coef");
  if (c.text("eps_clip_low_high").empty())
    return set_clip(c, c.text("eps_clip"), c.text("eps_clip"), c.text("dual_clip"), c.origin("eps_clip"));
  const auto [low, high] = sequence_bounds(c, "eps_clip_low_high");
  set_clip(c, low, high, c.text("dual_clip"), c.origin("eps_clip_low_high"));
}

void combine_kl(Conversion& c) {
  if (c.number("init_kl_coef") <= 0) return;
  if (c.is_true("use_kl_loss")) {
    if (!c.text("kl_target").empty())
      throw c.refused("kl_target",
                      "an adaptive coefficient of the KL in the loss is not supported; in the reward it is");
    c.set_from("use_kl_loss", "use_kl_loss");
    c.set_from("kl_loss_coef", "init_kl_coef");
    return set_kl_loss_penalty(c, "kl_estimator");
  }
  set_reward_kl(c, "init_kl_coef", "kl_estimator");
  if (c.text("kl_target").empty()) return;
  c.set_from("target_kl", "kl_target");
  c.set_from("kl_horizon", "kl_horizon");
}

/// Keeps groups whose mean reward lies between two bounds.
void combine_filter(Conversion& c) {
  if (!c.is_true("dynamic_filtering")) return;
  set_group_filter(c, c.origin("dynamic_filtering"));
  constexpr const char* kRange = "dynamic_filtering_reward_range";
  if (!c.is_set(kRange)) return;
  const auto [low, high] = sequence_bounds(c, kRange);
  const std::string args = "rewards.math_rule.query_filter_config.filter_args.threshold_";
  c.set(args + "down", low, c.origin(kRange));
  c.set(args + "up", high, c.origin(kRange));
}

void combine_schedule(Conversion& c) {
  const std::string type = c.text("lr_scheduler"), path = "actor_train.training_args.lr_scheduler_type";
  const bool has_end = type == "cosine_with_min_lr";
  c.set(path, has_end ? "cosine" : type == "constant" ? "constant_with_warmup" : type, c.origin("lr_scheduler"));
  if (has_end) set_last_rate(c, type, "min_lr_ratio", true);
  set_critic_optimizer(c);
}

/// Checks the critic's own settings, if there is a critic.
void combine_critic(Conversion& c) {
  if (c.text("advantage_estimator") != "gae") return;
  require_same(c, {{"critic.adam.weight_decay", "l2"},
                   {"critic.adam.betas", "adam_betas"},
                   {"critic.adam.eps", "actor.adam.eps"},
                   {"critic.optim", "actor.optim"},
                   {"critic.lr_scheduler", "lr_scheduler"},
                   {"critic.lr_warmup_ratio", "lr_warmup_ratio"},
                   {"critic.min_lr_ratio", "min_lr_ratio"},
                   {"critic.max_norm", "max_norm"}});
  c.take_rest("critic.", "as the policy's");
}

}  // namespace
}  // namespace openrlhf

void combine_openrlhf_objective(Conversion& c) {
  using namespace openrlhf;
  combine_correction(c);
  combine_advantages(c);
  combine_policy_loss(c);
  combine_kl(c);
  combine_filter(c);
  combine_schedule(c);
  combine_critic(c);
}

}  // namespace roll
