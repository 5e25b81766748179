#include "convert/verl_correction.h"

#include <fmt/format.h>

#include "config/scalar.h"

namespace roll {

namespace {

/// "0.5_2.0": bounds of the sampler's probability over the trainer's. A single number is the upper bound; the lower one
/// is its inverse.
void set_rejection(Conversion& c) {
  constexpr const char *kFilter = "algorithm.rollout_correction.rollout_rs",
                       *kBounds = "algorithm.rollout_correction.rollout_rs_threshold";
  const std::string filter = c.text(kFilter), bounds = c.text(kBounds);
  const char* const level = filter == "token_k1"      ? "token"
                            : filter == "seq_sum_k1"  ? "sequence"
                            : filter == "seq_mean_k1" ? "geometric"
                                                      : "";
  if (!*level) throw c.refused(kFilter, "not a supported filter; use token_k1, seq_sum_k1 or seq_mean_k1");
  const size_t separator = bounds.find('_');
  const auto upper = parse_number(bounds.substr(separator == bounds.npos ? 0 : separator + 1));
  const auto lower = separator == bounds.npos && upper ? 1 / *upper : parse_number(bounds.substr(0, separator));
  if (!upper || !lower || *lower <= 0 || *upper < *lower) throw c.refused(kBounds, "must be bounds such as 0.5_2.0");
  const std::string from = c.origin({kFilter, kBounds});
  c.set("train_infer_correction.filters",
        fmt::format("[{{enabled: true, agg_type: {}, ratio_low: {:g}, ratio_high: {:g}}}]", level, 1 / *upper,
                    1 / *lower),
        from);
}

/// One bound clamps the weights (TIS); with two, "0.5_5.0", weights outside become 0 (IcePop).
void set_weights(Conversion& c, const char* weight, const char* bound) {
  const std::string level = c.text(weight), bounds = c.text(bound), is_weight = "train_infer_correction.is_weight.";
  if (level != "token" && level != "sequence") throw c.refused(weight, "must be token or sequence");
  const DraftKey* variant = c.draft.find("actor_train.pg_variant");
  if (level == "token" && variant && variant->value == "gmpo")
    throw c.refused(weight, "geo_mean weighs a response by the geometric mean of its tokens' weights; give sequence");
  const size_t separator = bounds.find('_');
  c.set(is_weight + "enabled", "true", c.origin(weight));
  c.set(is_weight + "weight_type", level, c.origin(weight));
  c.set(is_weight + "upper_bound", bounds.substr(separator == bounds.npos ? 0 : separator + 1), c.origin(bound));
  if (separator == bounds.npos) return;
  c.set(is_weight + "lower_bound", bounds.substr(0, separator), c.origin(bound));
  c.set(is_weight + "zero_outside", "true", c.origin(bound));
}

}  // namespace

void combine_verl_correction(Conversion& c) {
  constexpr const char *kWeight = "algorithm.rollout_correction.rollout_is",
                       *kBound = "algorithm.rollout_correction.rollout_is_threshold";
  if (!c.text(kWeight).empty()) set_weights(c, kWeight, kBound);
  if (!c.text("algorithm.rollout_correction.rollout_rs").empty()) set_rejection(c);
}

}  // namespace roll
