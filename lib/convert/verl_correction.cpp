#include "convert/verl_correction.h"

#include <fmt/format.h>

#include "config/scalar.h"

namespace roll {

namespace {

/// "0.5_2.0" are bounds of the sampler's over the trainer's probability; one number is the upper one, and its inverse
/// the lower.
void set_rejection(Conversion& c) {
  constexpr const char *kWhat = "algorithm.rollout_correction.rollout_rs",
                       *kBounds = "algorithm.rollout_correction.rollout_rs_threshold";
  const std::string what = c.text(kWhat), bounds = c.text(kBounds);
  const char* const level = what == "token_k1"      ? "token"
                            : what == "seq_sum_k1"  ? "sequence"
                            : what == "seq_mean_k1" ? "geometric"
                                                    : "";
  if (!*level) throw c.refused(kWhat, "a filter that is not here; of them token_k1, seq_sum_k1 and seq_mean_k1 are");
  const size_t line = bounds.find('_');
  const auto upper = parse_number(bounds.substr(line == bounds.npos ? 0 : line + 1));
  const auto lower = line == bounds.npos && upper ? 1 / *upper : parse_number(bounds.substr(0, line));
  if (!upper || !lower || *lower <= 0 || *upper < *lower) throw c.refused(kBounds, "must be bounds such as 0.5_2.0");
  const std::string from = c.origin({kWhat, kBounds});
  c.set("train_infer_correction.filters",
        fmt::format("[{{enabled: true, agg_type: {}, ratio_low: {:g}, ratio_high: {:g}}}]", level, 1 / *upper,
                    1 / *lower),
        from);
}

}  // namespace

void combine_verl_correction(Conversion& c) {
  constexpr const char *kWeight = "algorithm.rollout_correction.rollout_is",
                       *kBound = "algorithm.rollout_correction.rollout_is_threshold";
  if (const std::string level = c.text(kWeight); !level.empty()) {
    if (level != "token" && level != "sequence") throw c.refused(kWeight, "must be token or sequence");
    c.set("train_infer_correction.is_weight.enabled", "true", c.origin(kWeight));
    c.set("train_infer_correction.is_weight.weight_type", level, c.origin(kWeight));
    c.set_from("train_infer_correction.is_weight.upper_bound", kBound);
  }
  if (!c.text("algorithm.rollout_correction.rollout_rs").empty()) set_rejection(c);
}

}  // namespace roll
