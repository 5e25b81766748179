#include "convert/trl_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "convert/adapters.h"

namespace roll {

namespace trl {
namespace {

constexpr std::array<std::string_view, 6> kLossTypes{"grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo"};

/// Reports a difference: truncated completions carry no loss, but TRL's mean over completions counts them.
void report_truncated(Conversion& c) {
  if (c.is_true("mask_truncated_completions"))
    c.differs("loss: roll averages over the responses with loss; TRL also counts truncated ones, as 0");
}

void set_aggregation(Conversion& c, const std::string& type) {
  const std::string from = c.origin("loss_type");
  if (type == "grpo" || type == "sapo") {
    c.set("loss_agg_mode", "seq-mean-token-mean", from);
    report_truncated(c);
  } else if (type == "dr_grpo") {
    c.set("loss_agg_mode", "constant", from);
    c.set("loss_aggregation_divisor", c.text("max_completion_length"), c.origin("max_completion_length"));
    report_truncated(c);
  } else {
    c.set("loss_agg_mode", "token-mean", from);
  }
  if (type == "bnpo")
    c.differs("loss: TRL's bnpo averages over the tokens of each micro-batch, roll over those of the whole mini-batch");
  if (c.number("entropy_coef") == 0) return;
  if (type == "grpo" || type == "sapo" || type == "dr_grpo")
    throw c.refused("entropy_coef", fmt::format("TRL averages the entropy over tokens, but the loss of loss_type = {} "
                                                "differently; in roll both share one mode: give loss_type dapo",
                                                type));
  c.set_from("entropy_loss_coef", "entropy_coef");
}

/// Sets the ratio's range. An upper bound `delta` affects only negative advantages, as the dual clip does.
void set_ratio_range(Conversion& c) {
  const char* const high = c.text("epsilon_high").empty() ? "epsilon" : "epsilon_high";
  const bool has_delta = !c.text("delta").empty();
  if (has_delta && c.number("delta") <= 1 + c.number(high))
    throw c.refused("delta", "must be above 1 + epsilon_high: a smaller one bounds the ratio before the clip does");
  set_clip(c, c.text("epsilon"), c.text(high), has_delta ? c.text("delta") : "",
           has_delta ? c.origin({"epsilon", "epsilon_high", "delta"}) : c.origin({"epsilon", "epsilon_high"}));
}

/// Sets importance weights, trainer over vLLM: clamped to their bounds, or 0 outside them.
void combine_correction(Conversion& c) {
  constexpr const char *kOn = "vllm_importance_sampling_correction", *kMode = "vllm_importance_sampling_mode",
                       *kMax = "vllm_importance_sampling_clip_max", *kMin = "vllm_importance_sampling_clip_min",
                       *kCap = "vllm_importance_sampling_cap";
  const bool is_configured = c.is_set(kOn) || c.is_set(kMode) || c.is_set(kMax) || c.is_set(kMin) || c.is_set(kCap);
  if (!c.is_true("use_vllm") || !c.is_true(kOn)) return;
  if (!is_configured)
    return c.differs(
        "correction: TRL by default weights the loss by the trainer's over vLLM's probabilities; roll's sampler and "
        "trainer agree closely, so no weights are set: train_infer_correction sets them");
  const std::string mode = c.text(kMode), is_weight = "train_infer_correction.is_weight.", from = c.origin(kMode);
  const bool is_sequence = mode.starts_with("sequence_"), is_mask = mode.ends_with("_mask");
  if ((!is_sequence && !mode.starts_with("token_")) || (!is_mask && !mode.ends_with("_truncate")))
    throw c.refused(kMode, "must be token_truncate, token_mask, sequence_truncate or sequence_mask");
  c.set(is_weight + "enabled", "true", c.origin(kOn));
  c.set(is_weight + "weight_type", is_sequence ? "sequence" : "token", from);
  const char* const max = c.text(kCap).empty() ? kMax : kCap;
  c.set(is_weight + "upper_bound", c.text(max).empty() ? "null" : c.text(max), c.origin(max));
  if (!c.text(kMin).empty()) c.set_from(is_weight + "lower_bound", kMin);
  if (is_mask) c.set(is_weight + "zero_outside", "true", from);
}

void combine_loss(Conversion& c) {
  const std::string type = c.text("loss_type"), from = c.origin("loss_type");
  if (std::ranges::find(kLossTypes, type) == std::end(kLossTypes))
    throw c.refused("loss_type", "not a supported policy loss");
  set_aggregation(c, type);
  if (type == "cispo") {
    // TRL bounds the weight itself; the bound may be below 1.
    c.set("actor_train.pg_variant", "tis", from + ": weights have only an upper bound");
    c.set("actor_train.tis_lower_bound", "0", "TRL has no lower bound");
    c.set_from("actor_train.tis_upper_bound", c.text("epsilon_high").empty() ? "epsilon" : "epsilon_high");
  } else if (type == "sapo") {
    c.set("actor_train.pg_variant", "sapo", from);
    c.set_from("actor_train.sapo_tau_pos", "sapo_temperature_pos");
    c.set_from("actor_train.sapo_tau_neg", "sapo_temperature_neg");
  } else {
    set_ratio_range(c);
  }
  const std::string level = c.text("importance_sampling_level");
  if (level != "token" && level != "sequence")
    throw c.refused("importance_sampling_level", "must be token or sequence");
  if (level == "sequence") c.set("importance_sampling", "seq", c.origin("importance_sampling_level"));
  combine_correction(c);
  if (c.number("beta") == 0) return;
  c.set("use_kl_loss", "true", c.origin("beta"));
  c.set_from("kl_loss_coef", "beta");
}

/// RLOOTrainer puts the KL in the reward and clips the ratio of the whole response. With one update per step the ratio
/// is 1, so the gradient equals that of the likelihood.
void combine_rloo(Conversion& c) {
  const std::string from = "RLOOTrainer";
  if (c.is_true("normalize_advantages"))
    throw c.refused("normalize_advantages",
                    "normalising over responses is not supported; whiten_advantages normalises over tokens");
  c.set("adv_estimator", "rloo", from);
  c.set("actor_train.pg_variant", "vanilla", from + ", with one update to a step");
  c.set("loss_agg_mode", "seq-mean-token-sum", from);
  report_truncated(c);
  const std::string beta = c.is_set("beta") ? c.text("beta") : "0.05";
  const bool penalises = !c.is_set("beta") || c.number("beta") != 0;
  if (penalises) {
    c.set("add_token_level_kl", "true", c.origin("beta"));
    c.set("kl_penalty", "kl", from);
    c.set("init_kl_coef", beta, c.is_set("beta") ? c.origin("beta") : from + "'s default");
  }
  const std::vector<std::string> range = split_entries(c.text("reward_clip_range"));
  if (range.empty()) return;
  if (penalises || range.size() != 2 || range[0] != "-" + range[1])
    throw c.refused("reward_clip_range", "must be two bounds of opposite sign, such as -10 10, with beta 0");
  c.set("reward_clip", range[1], c.origin("reward_clip_range"));
}

}  // namespace
}  // namespace trl

bool is_trl_rloo(const Conversion& c) {
  return c.is_true("rloo_trainer") || c.is_set("normalize_advantages") || c.is_set("reward_clip_range");
}

void combine_trl_objective(Conversion& c) {
  using namespace trl;
  if (is_trl_rloo(c)) return combine_rloo(c);
  combine_loss(c);
  const std::string scale = c.text("scale_rewards"), from = c.origin("scale_rewards");
  const bool is_unscaled = scale == "none" || scale == "false" || scale == "False";
  const bool is_group = scale == "group" || scale == "true" || scale == "True";
  if (!is_unscaled && !is_group && scale != "batch") throw c.refused("scale_rewards", "not a supported scale");
  c.set("adv_estimator", is_group ? "grpo" : "reinforce", from);
  if (scale == "batch" || is_unscaled) c.set("norm_mean_type", "group", from);
  if (scale == "batch") c.set("norm_std_type", "batch", from);
  const std::string aggregation = c.text("multi_objective_aggregation");
  if (aggregation != "sum_then_normalize" && aggregation != "normalize_then_sum")
    throw c.refused("multi_objective_aggregation", "must be sum_then_normalize or normalize_then_sum");
  if (aggregation == "normalize_then_sum") {
    c.set("adv_estimator", "gdpo", c.origin("multi_objective_aggregation"));
    c.draft.remove("norm_mean_type"), c.draft.remove("norm_std_type");
  }
}

}  // namespace roll
