#include "convert/slime_objective.h"

#include <fmt/format.h>

#include "convert/adapters.h"

namespace roll {

namespace slime {
namespace {

/// slime subtracts the group's mean reward and divides by its deviation, unless switched off. It discounts only with
/// ppo and reinforce_plus_plus.
void combine_advantages(Conversion& c, const std::string& name) {
  const std::string from = c.origin("advantage-estimator");
  const bool is_group = name == "grpo" || name == "gspo" || name == "cispo";
  const bool has_mean = is_group || name == "reinforce_plus_plus_baseline";
  const bool keeps_mean = has_mean && c.is_true("disable-rewards-normalization");
  const bool keeps_std = c.is_true("disable-grpo-std-normalization") || c.count("n-samples-per-prompt") == 1;
  if (keeps_mean) {
    c.set("adv_estimator", is_group ? "reinforce" : "reinforce_plus_plus", c.origin("disable-rewards-normalization"));
  } else if (is_group && keeps_std) {
    c.set("adv_estimator", "reinforce", c.origin("disable-grpo-std-normalization"));
    c.set("norm_mean_type", "group", from);
  } else if (is_group) {
    c.set("adv_estimator", "grpo", from);
  } else if (name == "ppo" || has_mean || name == "reinforce_plus_plus") {
    c.set("adv_estimator", name == "ppo" ? "gae" : name, from);
  } else {
    throw c.refused("advantage-estimator", "not a supported estimator");
  }
  if (!has_mean)
    c.set_from("gamma", "gamma");
  else if (c.number("gamma") != 1)
    c.set("gamma", "1", "the source does not discount returns: " + from);
  if (name == "ppo")
    c.differs(
        "critic: roll's loss is half the squared error, slime's the squared error, so roll's gradient is half as "
        "large");
}

/// Sets importance weights, trainer over sampler, clamped to two bounds.
void combine_correction(Conversion& c) {
  if (!c.is_true("use-tis")) return;
  c.set_from("train_infer_correction.is_weight.upper_bound", "tis-clip");
  if (c.number("tis-clip-low") != 0) c.set_from("train_infer_correction.is_weight.lower_bound", "tis-clip-low");
}

void combine_filter(Conversion& c) {
  constexpr const char* kPath = "dynamic-sampling-filter-path";
  if (c.text(kPath).empty()) return;
  if (c.text(kPath).find("check_reward_nonzero_std") == std::string::npos)
    throw c.refused(kPath, "a group filter in Python cannot be converted; only check_reward_nonzero_std is supported");
  set_group_filter(c, c.origin(kPath));
  c.set("rewards.math_rule.query_filter_config.type", "std_filter", c.origin(kPath));
  c.set("rewards.math_rule.query_filter_config.filter_args.std_threshold", "1e-6", c.origin(kPath));
}

void combine_algorithm(Conversion& c) {
  const std::string name = c.text("advantage-estimator"), from = c.origin("advantage-estimator");
  combine_advantages(c, name);
  if (name == "gspo") c.set("importance_sampling", "seq", from);
  const char* const high = c.text("eps-clip-high").empty() ? "eps-clip" : "eps-clip-high";
  if (name == "cispo") {
    c.set("actor_train.pg_variant", "cispo", from);
    set_cispo_range(c, "eps-clip", high);
  } else {
    set_clip(c, c.text("eps-clip"), c.text(high), c.text("eps-clip-c"),
             c.origin({"eps-clip", "eps-clip-high", "eps-clip-c"}));
  }
  const bool by_token = c.is_true("calculate-per-token-loss");
  c.set("loss_agg_mode", by_token ? "token-mean" : "seq-mean-token-mean", c.origin("calculate-per-token-loss"));
  combine_correction(c);
  combine_filter(c);
}

/// Only estimators with token rewards read a KL in the reward.
void combine_kl(Conversion& c) {
  set_kl_loss(c, "use-kl-loss", "kl-loss-coef", "kl-loss-type");
  const std::string name = c.text("advantage-estimator");
  if (c.number("kl-coef") == 0) return;
  if (name == "reinforce_plus_plus_baseline")
    throw c.refused(
        "kl-coef",
        "a KL per token, without that of the tokens after it, is not supported; use-kl-loss puts the KL into the loss");
  if (name == "ppo" || name == "reinforce_plus_plus") return set_reward_kl(c, "kl-coef", "kl-loss-type");
  c.differs(fmt::format("kl-coef = {}: has no effect with --advantage-estimator {}, neither in slime nor in roll",
                        c.text("kl-coef"), name));
}

void combine_optimizer(Conversion& c) {
  require_adam(c, "optimizer");
  set_last_rate(c, c.text("lr-decay-style"), "min-lr", false);
  set_critic_optimizer(c);
}

}  // namespace
}  // namespace slime

void set_slime_adapters(Conversion& c) {
  const bool wanted = c.is_true("use-lora") || c.is_true("enable-lora"), has_rank = asks_for_rank(c, "lora-rank");
  if (!wanted && has_rank)
    throw c.refused("lora-rank", "adapters need --use-lora; give --use-lora true after the file, or this key as 0");
  if (!wanted) return;
  for (const char* key : {"lora-rank", "lora-alpha"})
    if (!c.is_set(key))
      throw user_error("--use-lora needs --{0}, whose default differs between slime's branches: give --{0}", key);
  const char* const targets = c.is_set("target-modules") ? "target-modules" : "lora-target-modules";
  set_adapters(c, {"actor_train"}, {"lora-rank", "lora-alpha", targets, "lora-dropout", ""}, true);
  if (!c.is_set(targets))
    c.differs(
        "adapters: no target modules are given, so all linear modules get adapters; defaults differ between slime's "
        "branches");
}

void combine_slime_objective(Conversion& c) {
  using namespace slime;
  combine_algorithm(c);
  combine_kl(c);
  set_slime_adapters(c);
  combine_optimizer(c);
}

}  // namespace roll
