#include <algorithm>

#include "base/nearest.h"
#include "train/checks.h"

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

}  // namespace

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
  for (const bool* weight : {&loss.difficulty_loss_weight, &loss.length_loss_weight})
    check.require(!*weight, *weight,
                  "needs weights of whole sequences, which this version does not have; set it to false");
  check.require(!loss.loss_mask_keys.empty(), loss.loss_mask_keys, "names no mask; the loss would be empty");
  for (const std::string& key : loss.loss_mask_keys)
    check.require(std::find(masks.begin(), masks.end(), key) != masks.end(), loss.loss_mask_keys,
                  "there is no mask {}; there are {}{}", key, fmt::join(masks, ", "), did_you_mean(key, masks));
}

}  // namespace roll
