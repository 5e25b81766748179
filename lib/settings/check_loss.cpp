#include <algorithm>

#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "loss/aggregate.h"
#include "loss/plugin.h"
#include "settings/checks.h"

namespace roll {

namespace {

void check_spellings(const LossConfig& loss, Checker& check) {
  if (!loss.loss_aggregation) return;
  const AggMode implied_mode = agg_mode(*loss.loss_aggregation);
  check.require(!check.is_set(loss.loss_agg_mode) || loss.loss_agg_mode == implied_mode, loss.loss_aggregation,
                "means {}, but {} ({}); keep one of the two", enum_name(implied_mode), check.name(loss.loss_agg_mode),
                check.place(loss.loss_agg_mode).text());
}

/// Returns the key that decides the mode, as "key = value".
std::string mode_name(const LossConfig& loss, Checker& check) {
  return loss.loss_aggregation ? check.name(loss.loss_aggregation) : check.name(loss.loss_agg_mode);
}

void check_per_token(const LossConfig& loss, Checker& check) {
  if (!loss.calculate_per_token_loss) return;
  const AggMode chosen_mode = loss.loss_aggregation ? agg_mode(*loss.loss_aggregation) : loss.loss_agg_mode;
  const bool other_is_set = loss.loss_aggregation || check.is_set(loss.loss_agg_mode);
  check.require(!other_is_set || chosen_mode == AggMode::kTokenMean, loss.calculate_per_token_loss,
                "means token-mean, but {}; keep one of the two", mode_name(loss, check));
}

void check_divisor(const LossConfig& loss, Checker& check) {
  const auto& divisor = loss.loss_aggregation_divisor;
  const AggMode mode = loss_modes(loss).policy;
  check.require(divisor || mode != AggMode::kConstant, divisor,
                "{} needs a divisor; the Dr.GRPO paper uses the response length", mode_name(loss, check));
  check.require(!divisor || has_divisor(mode), divisor,
                "only the modes constant and seq-mean-token-sum-norm have a divisor, but {}; remove it",
                mode_name(loss, check));
}

/// Notes that the gradient of this KL estimate is 0 on average: E[d log p] over samples of p is 0 for any reference.
void note_kl_estimate(const LossConfig& loss, Checker& check) {
  if (!loss.use_kl_loss || loss.kl_loss_coef == 0 || loss.kl_loss_penalty != KlPenalty::kKl) return;
  check.note(fmt::format(
      "{}: on the policy's own samples the gradient of this estimate is zero in expectation, so it adds noise and does "
      "not hold the policy near the reference; mse has the gradient of the KL, and k3 a similar one",
      check.name(loss.kl_loss_penalty)));
}

void check_sample_weights(const LossConfig& loss, Checker& check) {
  const auto& range = loss.difficulty_range;
  check.require(range.size() == 2 && range[0] < range[1], range,
                "must be two numbers, the smaller one first, e.g. [1, 10]");
}

/// Checks a plug-in's library, name and version without executing it; only the run does.
void check_plugin(const PluginArgs& plugin, bool offline, Checker& check) {
  if (!plugin) {
    check.require(plugin.name.empty(), plugin.name, "needs {} as well", check.key(plugin.library));
    return;
  }
  if (!check.require_given(!plugin.name.empty(), plugin.name,
                           fmt::format("give the name in the ROLL_LOSS(name, function) of {}", plugin.library)))
    return;
  if (offline && !is_there(plugin.library))
    return check.note(fmt::format("{}: not on this machine, so not checked", check.name(plugin.library)));
  check.collect_named(plugin.library, [&] { check_plugin_file(plugin, check.key(plugin)); });
}

void check_masks(const std::vector<std::string>& keys, const LossMasks& masks, Checker& check) {
  bool all_known = true;
  for (const std::string& key : keys)
    all_known &= check.require(std::ranges::find(masks.known, key) != masks.known.end(), keys,
                               "there is no mask {}; the masks are {}{}", key, fmt::join(masks.known, ", "),
                               did_you_mean(key, masks.known));
  if (!all_known) return;
  std::vector<std::string> left_out;
  for (const std::string& mask : masks.counted)
    if (std::ranges::find(keys, mask) == keys.end()) left_out.push_back(mask);
  check.require(left_out.empty(), keys, "leaves out {}, whose tokens the loss counts; add {}",
                fmt::join(left_out, " and "), left_out.size() == 1 ? "it" : "them");
}

}  // namespace

void check_bounds(const double& low, const double& high, Checker& check) {
  if (check.is_set(low))
    check.require(low <= high, low, "is above {}; lower it, or raise that one", check.name(high));
  else
    check.require(low <= high, high, "is below {}; raise it, or lower that one", check.name(low));
}

void check_policy(const PolicyArgs& policy, const LossConfig& loss, Checker& check) {
  const char* const own_ratio = policy.pg_variant->own_ratio;
  check.require(!own_ratio || loss.importance_sampling == ImportanceSampling::kToken, loss.importance_sampling,
                "{} uses {} instead; remove this", check.name(policy.pg_variant), own_ratio ? own_ratio : "");
  check_bounds(policy.tis_lower_bound, policy.tis_upper_bound, check);
}

void check_plugins(const WorkerConfig& worker, bool offline, Checker& check) {
  check_plugin(worker.loss_func, offline, check);
  if (!worker.duties.is_policy) return;
  check_plugin(worker.pg_loss_reducer, offline, check);
  check.require(!worker.loss_func || !worker.pg_loss_reducer, worker.pg_loss_reducer.library,
                "reduces the built-in policy term, which {} replaces; keep one of the two",
                check.name(worker.loss_func.library));
}

LossMasks loss_masks(const Config& config) {
  LossMasks masks{.known = {"response_mask", "final_response_mask", "positive_response_mask"},
                  .counted = {"final_response_mask"}};
  // The built-in policy loss uses response_mask for its diagnostics.
  if (config.uses_critic() || !config.actor_train.loss_func) masks.counted.emplace_back("response_mask");
  return masks;
}
LossMasks loss_masks(const RowConfig&) {
  return {.known = {"labels_mask"}, .counted = {"labels_mask"}};
}

void check_loss(const LossConfig& loss, const LossMasks& masks, Checker& check) {
  check_spellings(loss, check);
  check_per_token(loss, check);
  check_divisor(loss, check);
  check_sample_weights(loss, check);
  note_kl_estimate(loss, check);
  check_masks(loss.loss_mask_keys, masks, check);
}

}  // namespace roll
