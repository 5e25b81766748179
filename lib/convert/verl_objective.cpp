#include "convert/verl_objective.h"

#include <fmt/format.h>

#include <algorithm>

namespace roll {

namespace verl {
namespace {

#define ACTOR "actor_rollout_ref.actor."

constexpr const char *kEstimator = "algorithm.adv_estimator", *kLossMode = ACTOR "policy_loss.loss_mode",
                     *kAggregation = ACTOR "loss_agg_mode", *kStd = "algorithm.norm_adv_by_std_in_grpo",
                     *kMeanOfMeans = "seq-mean-token-mean";

/// verl's estimator. For prompts with one response, verl subtracts no baseline.
struct Estimator {
  const char* foreign_name;
  const char* our_name;
  // roll's name for groups of one response; "": refused; nullptr: same as `our_name`
  const char* single_response_name = nullptr;
  bool discounts = false;        // by algorithm.gamma
  bool penalises_tokens = true;  // a KL in the reward means the same in roll
};
constexpr Estimator kEstimators[] = {
    {.foreign_name = "gae", .our_name = "gae", .discounts = true},
    {.foreign_name = "grpo", .our_name = "grpo", .single_response_name = "reinforce", .penalises_tokens = false},
    {.foreign_name = "grpo_vectorized",
     .our_name = "grpo",
     .single_response_name = "reinforce",
     .penalises_tokens = false},
    {.foreign_name = "reinforce_plus_plus", .our_name = "reinforce_plus_plus", .discounts = true},
    {.foreign_name = "reinforce_plus_plus_baseline",
     .our_name = "reinforce_plus_plus_baseline",
     .single_response_name = "reinforce_plus_plus",
     .penalises_tokens = false},
    {.foreign_name = "remax", .our_name = "remax"},
    {.foreign_name = "rloo", .our_name = "rloo", .single_response_name = "reinforce"},
    {.foreign_name = "rloo_vectorized", .our_name = "rloo"},
    {.foreign_name = "opo", .our_name = "opo", .single_response_name = "reinforce"},
    {.foreign_name = "gdpo", .our_name = "gdpo_verl", .single_response_name = ""},
    {.foreign_name = "gpg", .our_name = "gpg_verl", .single_response_name = ""},
    {.foreign_name = "optimal_token_baseline", .our_name = "optimal_token_baseline_verl"},
};

/// verl's policy loss.
struct LossMode {
  const char* foreign_name;
  const char* variant;              // pg_variant
  const char* range;                // prefix of roll's keys for clip_ratio_low and _high; empty: none
  bool averages_responses = false;  // always seq-mean-token-mean; ignores loss_agg_mode
};
constexpr LossMode kLossModes[] = {
    {.foreign_name = "vanilla", .variant = "ppo", .range = "pg_clip"},
    {.foreign_name = "gspo", .variant = "ppo", .range = "pg_clip", .averages_responses = true},
    {.foreign_name = "gpg", .variant = "vanilla", .range = ""},
    {.foreign_name = "geo_mean", .variant = "gmpo", .range = "gmpo", .averages_responses = true},
    {.foreign_name = "gmpo", .variant = "gmpo", .range = "gmpo", .averages_responses = true},
    {.foreign_name = "cispo", .variant = "cispo", .range = "cispo"},
    {.foreign_name = "sapo", .variant = "sapo", .range = "", .averages_responses = true},
    {.foreign_name = "dppo_tv", .variant = "dppo_tv", .range = "dppo"},
    {.foreign_name = "dppo_kl", .variant = "dppo_kl", .range = "dppo"},
    {.foreign_name = "dro", .variant = "kimi15", .range = ""},
};

bool is_any(const std::string& text, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) { return text == name; });
}

const Estimator& estimator_of(const Conversion& c) {
  const std::string name = c.text(kEstimator);
  const auto* const found = std::ranges::find(kEstimators, name, &Estimator::foreign_name);
  if (found == std::end(kEstimators))
    throw c.refused(kEstimator, "not a supported estimator; `roll keys adv_estimator` lists the supported ones");
  return *found;
}

const LossMode& loss_mode_of(const Conversion& c) {
  const std::string name = c.text(kLossMode);
  const auto* const found = std::ranges::find(kLossModes, name, &LossMode::foreign_name);
  if (found == std::end(kLossModes))
    throw c.refused(kLossMode, "not a supported policy loss; `roll keys pg_variant` lists the supported ones");
  return *found;
}

bool has_reward_kl(const Conversion& c) {
  return c.is_true("algorithm.use_kl_in_reward") && c.number("algorithm.kl_ctrl.kl_coef") != 0;
}

/// Returns true if tokens of one response may have different advantages.
bool differs_by_token(const Conversion& c, const Estimator& estimator) {
  const std::string name = estimator.our_name;
  if (name == "gae" || name == "optimal_token_baseline_verl") return true;
  if (name == "reinforce_plus_plus" && c.number("algorithm.gamma") != 1) return true;
  return is_any(name, {"reinforce_plus_plus", "remax"}) && has_reward_kl(c);
}

void combine_advantages(Conversion& c, const Estimator& estimator) {
  const std::string from = c.origin(kEstimator), name = estimator.our_name;
  const bool has_single_response = estimator.single_response_name && c.count("actor_rollout_ref.rollout.n") == 1;
  if (has_reward_kl(c) && name == "gdpo_verl")
    throw c.refused("algorithm.use_kl_in_reward", "it has no effect on GDPO's advantages in verl; leave it out");
  if (has_reward_kl(c) && (has_single_response || !estimator.penalises_tokens))
    throw c.refused("algorithm.use_kl_in_reward",
                    fmt::format("verl's {} adds the KL of all tokens to a response's reward before it compares "
                                "responses, which is not supported; use_kl_loss puts the KL into the loss",
                                c.text(kEstimator)));
  if (has_single_response && !*estimator.single_response_name)
    throw c.refused("actor_rollout_ref.rollout.n",
                    "must be at least 2: this estimator compares the responses to a prompt");
  if (has_single_response)
    c.set("adv_estimator", estimator.single_response_name,
          from + "; with one response per prompt verl subtracts no baseline");
  else if (name == "grpo" && !c.is_true(kStd)) {
    c.set("adv_estimator", "reinforce", from + ", without the deviation: " + c.origin(kStd));
    c.set("norm_mean_type", "group", c.origin(kStd));
  } else {
    c.set("adv_estimator", name, from);
  }
  if (!estimator.discounts && c.number("algorithm.gamma") != 1)
    c.set("gamma", "1", "the source does not discount returns: " + from);
  if (name == "gae") c.set("whiten_advantages", "true", "always on in the source trainer");
  if (c.is_true("algorithm.filter_groups.enable")) set_group_filter(c, c.origin("algorithm.filter_groups.enable"));
}

/// verl divides by the number of sequences of the update; with sum-norm also by loss_scale_factor, or without one by
/// the longest possible response.
void set_aggregation(Conversion& c, const LossMode& mode, const Estimator& estimator) {
  const std::string given = c.text(kAggregation), from = c.origin(kAggregation);
  const bool has_other_losses = (c.is_true(ACTOR "use_kl_loss") && c.number(ACTOR "kl_loss_coef") != 0) ||
                                c.number(ACTOR "entropy_coeff") != 0 || std::string(estimator.our_name) == "gae";
  if (mode.averages_responses) {
    if (has_other_losses && given != kMeanOfMeans)
      throw c.refused(kAggregation,
                      fmt::format("verl applies it to the KL, the entropy and a critic's loss, while loss_mode = {0} "
                                  "is always {1}; in roll all share one mode: give loss_agg_mode={1}",
                                  mode.foreign_name, kMeanOfMeans));
    return c.set("loss_agg_mode", kMeanOfMeans, c.origin(kLossMode) + ", which ignores loss_agg_mode");
  }
  if (is_any(given, {"token-mean", "seq-mean-token-sum", kMeanOfMeans})) return c.set("loss_agg_mode", given, from);
  if (given == "token-sum") {
    c.set("loss_agg_mode", "seq-mean-token-sum-norm", from);
    return c.set("loss_aggregation_divisor", "1", from);
  }
  if (given != "seq-mean-token-sum-norm") throw c.refused(kAggregation, "not a supported mode");
  const bool is_padded = c.text(ACTOR "loss_scale_factor").empty();
  c.set("loss_agg_mode", "constant", from);
  c.set_from("loss_aggregation_divisor", is_padded ? "data.max_response_length" : ACTOR "loss_scale_factor");
  if (is_padded)
    c.differs(
        "loss: without loss_scale_factor verl divides by the width of its padded rows: max_response_length, or less if "
        "its newer trainer pads each micro-batch to its longest response");
}

void set_range(Conversion& c, const LossMode& mode) {
  const std::string range = mode.range;
  const auto bound = [&](const char* key) { return c.text(key).empty() ? ACTOR "clip_ratio" : key; };
  const char *const low = bound(ACTOR "clip_ratio_low"), *const high = bound(ACTOR "clip_ratio_high");
  if (range.empty()) return;
  if (range == "pg_clip") {
    const bool has_dual_clip = std::string(mode.foreign_name) == "vanilla";
    set_clip(c, c.text(low), c.text(high), has_dual_clip ? c.text(ACTOR "clip_ratio_c") : "",
             has_dual_clip ? c.origin({low, high, ACTOR "clip_ratio_c"}) : c.origin({low, high}));
  } else if (range == "cispo") {
    set_cispo_range(c, low, high);
  } else {
    const std::string bounds = range == "dppo" ? "actor_train.dppo_threshold_" : "actor_train.gmpo_epsilon_";
    c.set_from(bounds + "low", low);
    c.set_from(bounds + "high", high);
    if (range == "dppo") c.set_from("actor_train.dppo_max_ratio", ACTOR "clip_ratio_c");
  }
  const auto ignores = [](const std::string& key) { return key != ACTOR "clip_ratio"; };
  if (c.is_set(ACTOR "clip_ratio") && ignores(low) && ignores(high))
    c.differs(
        fmt::format("clip: clip_ratio = {} has no effect: verl reads clip_ratio_low and clip_ratio_high, whose "
                    "default is 0.2, unless they are null",
                    c.text(ACTOR "clip_ratio")));
}

void combine_policy_loss(Conversion& c, const LossMode& mode, const Estimator& estimator) {
  const std::string from = c.origin(kLossMode), name = mode.foreign_name;
  set_aggregation(c, mode, estimator);
  if (name == "gspo") {
    if (differs_by_token(c, estimator))
      throw c.refused(kLossMode,
                      "gspo with a different advantage for each token is not supported; all tokens of a response must "
                      "have the same");
    c.set("importance_sampling", "seq", from);
  } else if (name != "vanilla") {
    c.set("actor_train.pg_variant", mode.variant, from);
  }
  if (name == "sapo") {
    c.set_from("actor_train.sapo_tau_pos", ACTOR "tau_pos");
    c.set_from("actor_train.sapo_tau_neg", ACTOR "tau_neg");
  }
  if (name == "dro") c.set_from("actor_train.kimi15_tau", ACTOR "policy_loss.dro_beta");
  if (name == "dro" && c.number(ACTOR "policy_loss.dro_beta") <= 0)
    throw c.refused(ACTOR "policy_loss.dro_beta", "must be above 0");
  if (std::string(mode.variant) == "gmpo")
    c.differs(
        "loss: verl's geo_mean sums the means of micro-batches; roll averages over the whole mini-batch, so its "
        "gradient is smaller by the number of micro-batches");
  set_range(c, mode);
}

void combine_kl(Conversion& c) {
  set_kl_loss(c, ACTOR "use_kl_loss", ACTOR "kl_loss_coef", ACTOR "kl_loss_type");
  if (!c.is_true("algorithm.use_kl_in_reward")) return;
  set_reward_kl(c, "algorithm.kl_ctrl.kl_coef", "algorithm.kl_penalty");
  if (c.text("algorithm.kl_ctrl.type") != "adaptive") return;
  c.set_from("target_kl", "algorithm.kl_ctrl.target_kl");
  c.set_from("kl_horizon", "algorithm.kl_ctrl.horizon");
}

}  // namespace
}  // namespace verl

void combine_verl_objective(Conversion& c) {
  using namespace verl;
  const Estimator& estimator = estimator_of(c);
  combine_advantages(c, estimator);
  combine_policy_loss(c, loss_mode_of(c), estimator);
  combine_kl(c);
}

}  // namespace roll
