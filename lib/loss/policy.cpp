#include "loss/policy.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

namespace {

/// -weight * A * log pi, where the weight is the ratio kept in [lower, upper] and carries no gradient.
PolicyLoss weighted_likelihood(const PolicyInputs& in, double lower, double upper) {
  const at::Tensor r = in.ratio.detach();
  PolicyLoss result;
  result.loss = -r.clamp(lower, upper) * in.advantages * in.log_probs;
  result.above = r.gt(upper);
  result.below = r.lt(lower);
  result.clipped = result.above.logical_or(result.below);
  return result;
}

PolicyLoss unclipped(const PolicyInputs& in, at::Tensor loss) {
  const at::Tensor none = at::zeros_like(in.advantages);
  return {std::move(loss), none, none, none};
}

PolicyLoss ppo(const PolicyInputs& in, const LossConfig& config) {
  const ClipRange clip = clip_range(config);
  const PolicyTerm term = policy_term(in.ratio, in.advantages, clip);
  const at::Tensor r = in.ratio.detach();
  const double c = config.dual_clip_c.value_or(1 + 2 * config.pg_clip);
  return {config.dual_clip_loss ? dual_clip(term.loss, in.advantages, c) : term.loss, term.clipped, r.gt(1 + clip.high),
          r.lt(1 - clip.low)};
}

PolicyLoss topr(const PolicyInputs& in, const PolicyArgs& args) {
  const at::Tensor positive = in.is_positive.ne(0);
  PolicyLoss result = weighted_likelihood(in, 0, 1);
  result.loss = at::where(positive, -in.advantages * in.log_probs * args.topr_positive_weight,
                          result.loss * args.topr_negative_weight);
  for (at::Tensor* flags : {&result.clipped, &result.above, &result.below})
    *flags = flags->logical_and(positive.logical_not());
  return result;
}

PolicyLoss cispo(const PolicyInputs& in, const PolicyArgs& args) {
  PolicyLoss result = weighted_likelihood(in, 1 - args.cispo_epsilon_low, 1 + args.cispo_epsilon_high);
  if (!args.cispo_use_unified_mask) return result;
  result.clipped = at::where(in.advantages.gt(0), result.above, result.below.logical_and(in.advantages.lt(0)));
  result.loss = result.loss * result.clipped.logical_not();
  return result;
}

}  // namespace

ClipRange clip_range(const LossConfig& config) {
  if (config.use_pg_clip_range) return {config.pg_clip_low, config.pg_clip_high};
  return {config.pg_clip, config.pg_clip};
}

PolicyLoss policy_loss(const PolicyInputs& in, const LossConfig& loss, const PolicyArgs& args) {
  switch (args.pg_variant) {
    case PgVariant::kPpo:
      return ppo(in, loss);
    case PgVariant::kVanilla:
      return unclipped(in, -in.advantages * in.log_probs);
    case PgVariant::kTis:
      return weighted_likelihood(in, args.tis_lower_bound, args.tis_upper_bound);
    case PgVariant::kTopr:
      return topr(in, args);
    case PgVariant::kCispo:
      return cispo(in, args);
    case PgVariant::kKimi15:
      return unclipped(in, -in.advantages * in.log_probs + in.log_ratio.square() * (args.kimi15_tau * 0.5));
  }
  throw Bug("a policy loss without its formula");
}

}  // namespace roll
