#include <algorithm>

#include <filesystem>

#include "base/nearest.h"
#include "loss/plugin.h"
#include "settings/checks.h"

namespace roll {

namespace {

/// The mode that a spelling of the ScaleRL family means.
std::string mode_of(const std::string& aggregation) {
  if (aggregation == "token_mean") return "token-mean";
  if (aggregation == "sample_mean") return "seq-mean-token-mean";
  if (aggregation == "prompt_mean") return "prompt-mean";
  return aggregation;
}

void check_spellings(const LossConfig& loss, Checker& check) {
  if (!loss.loss_aggregation) return;
  const std::string meant = mode_of(*loss.loss_aggregation);
  check.require(!check.is_set(loss.loss_agg_mode) || loss.loss_agg_mode == meant, loss.loss_aggregation,
                "means {}, but {} ({}); keep one of the two", meant, check.name(loss.loss_agg_mode),
                check.place(loss.loss_agg_mode));
}

void check_per_token(const LossConfig& loss, const std::string& mode, bool mode_is_set, Checker& check) {
  if (!loss.calculate_per_token_loss || mode == "token-mean" || !mode_is_set) return;
  const std::string other = loss.loss_aggregation ? check.name(loss.loss_aggregation) : check.name(loss.loss_agg_mode);
  check.require(false, loss.calculate_per_token_loss, "means token-mean, but {}; keep one of the two", other);
}

void check_divisor(const LossConfig& loss, const std::string& mode, Checker& check) {
  const auto& divisor = loss.loss_aggregation_divisor;
  const std::string mode_name =
      loss.loss_aggregation ? check.name(loss.loss_aggregation) : check.name(loss.loss_agg_mode);
  if (mode != "constant")
    check.require(!divisor, divisor, "only mode constant has a divisor, but {}; remove it", mode_name);
  else if (!divisor)
    check.require(false, divisor, "{} needs it; the Dr.GRPO paper takes the response length", mode_name);
  else
    check.require(*divisor > 0 && std::isfinite(*divisor), divisor,
                  "must be a finite number above 0, as {} divides by it", mode_name);
}

/// Opens the library, so that a missing one, a wrong name or version is known before the run.
void check_plugin(const PluginArgs& plugin, bool offline, Checker& check) {
  if (!plugin) {
    check.require(plugin.name.empty(), plugin.name, "needs {} as well", check.key(plugin.library));
    return;
  }
  if (!check.require(!plugin.name.empty(), plugin.name,
                     "which loss of {}? give the name in its ROLL_LOSS(name, function)", check.name(plugin.library)))
    return;
  if (offline && !std::filesystem::exists(plugin.library))
    return check.note(fmt::format("{}: not here, so not checked", check.name(plugin.library)));
  check.collect_named(plugin.library, [&] { LossPlugin::open(plugin, check.key(plugin)); });
}

}  // namespace

void check_plugins(const WorkerConfig& worker, bool is_policy, bool offline, Checker& check) {
  check_plugin(worker.loss_func, offline, check);
  check_plugin(worker.pg_loss_reducer, offline, check);
  check.require(is_policy || !worker.pg_loss_reducer, worker.pg_loss_reducer.library,
                "reduces the policy term, which only actor_train has; remove it");
  check.require(!worker.loss_func || !worker.pg_loss_reducer, worker.pg_loss_reducer.library,
                "reduces the built-in policy term, which {} replaces; keep one of the two",
                check.name(worker.loss_func.library));
}

std::vector<std::string> masks_of(const Config&) {
  return {"response_mask", "final_response_mask"};
}
std::vector<std::string> masks_of(const SftConfig&) {
  return {"labels_mask"};
}

std::string effective_mode(const LossConfig& loss) {
  if (loss.loss_aggregation) return mode_of(*loss.loss_aggregation);
  return loss.calculate_per_token_loss ? "token-mean" : loss.loss_agg_mode;
}

void check_loss(const LossConfig& loss, const std::vector<std::string>& masks, Checker& check) {
  const bool mode_is_set = loss.loss_aggregation || check.is_set(loss.loss_agg_mode);
  const std::string mode = loss.loss_aggregation ? mode_of(*loss.loss_aggregation) : loss.loss_agg_mode;
  check_spellings(loss, check);
  check_per_token(loss, mode, mode_is_set, check);
  check_divisor(loss, effective_mode(loss), check);
  check.require(!loss.loss_mask_keys.empty(), loss.loss_mask_keys, "names no mask; the loss would be empty");
  for (const std::string& key : loss.loss_mask_keys)
    check.require(std::find(masks.begin(), masks.end(), key) != masks.end(), loss.loss_mask_keys,
                  "there is no mask {}; there are {}{}", key, fmt::join(masks, ", "), did_you_mean(key, masks));
}

}  // namespace roll
