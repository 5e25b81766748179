#include "loss/policy.h"

#include <ATen/ATen.h>

#include "config/keys.h"
#include "loss/settings.h"

namespace roll {

namespace {

/// Returns -weight * A * log pi; the weight is the ratio clamped to [lower, upper], without gradient.
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

PolicyLoss ppo(const PolicyInputs& in, const LossSettings& settings) {
  const ClipRange clip = settings.clip;
  const PolicyTerm term = policy_term(in.ratio, in.advantages, clip);
  const at::Tensor r = in.ratio.detach();
  return {settings.dual_clip_c ? dual_clip(term.loss, in.advantages, *settings.dual_clip_c) : term.loss, term.clipped,
          r.gt(1 + clip.high), r.lt(1 - clip.low)};
}

PolicyLoss vanilla(const PolicyInputs& in, const LossSettings&) {
  return unclipped(in, -in.advantages * in.log_probs);
}

PolicyLoss tis(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  return weighted_likelihood(in, args.tis_lower_bound, args.tis_upper_bound);
}

PolicyLoss topr(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  const at::Tensor positive = in.is_positive.ne(0);
  PolicyLoss result = weighted_likelihood(in, 0, 1);
  result.loss = at::where(positive, -in.advantages * in.log_probs * args.topr_positive_weight,
                          result.loss * args.topr_negative_weight);
  for (at::Tensor* flags : {&result.clipped, &result.above, &result.below})
    *flags = flags->logical_and(positive.logical_not());
  return result;
}

PolicyLoss cispo(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  PolicyLoss result = weighted_likelihood(in, 1 - args.cispo_epsilon_low, 1 + args.cispo_epsilon_high);
  if (!args.cispo_use_unified_mask) return result;
  result.clipped = at::where(in.advantages.gt(0), result.above, result.below.logical_and(in.advantages.lt(0)));
  result.loss = result.loss * result.clipped.logical_not();
  return result;
}

PolicyLoss kimi15(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  return unclipped(in, -in.advantages * in.log_probs + in.log_ratio.square() * (args.kimi15_tau * 0.5));
}

/// Like PPO, clips only where the advantage would push the ratio further out.
PolicyLoss gmpo(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  const double low = -args.gmpo_epsilon_low, high = args.gmpo_epsilon_high;
  const at::Tensor rises = in.advantages.gt(0), falls = in.advantages.lt(0), d = in.log_ratio.detach();
  const at::Tensor kept =
      at::where(rises, in.log_ratio.clamp_max(high), at::where(falls, in.log_ratio.clamp_min(low), in.log_ratio));
  PolicyLoss result;
  result.loss = -in.advantages * sequence_ratio(kept, in.response_mask, in.cu_seqlens, in.bounds);
  result.above = d.gt(high);
  result.below = d.lt(low);
  result.clipped = at::where(rises, result.above, result.below.logical_and(falls));
  return result;
}

/// Replaces the clip by a gate that falls off smoothly on both sides of 1.
PolicyLoss sapo(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  const at::Tensor tau = at::where(in.advantages.gt(0), at::full_like(in.advantages, args.sapo_tau_pos),
                                   at::full_like(in.advantages, args.sapo_tau_neg));
  return unclipped(in, -in.advantages * at::sigmoid(tau * (in.ratio - 1)) * 4 / tau);
}

/// Drops tokens whose `divergence` from the sampling policy exceeds the threshold, unless their advantage pushes back.
/// The divergence is between two distributions over {this token, another}.
PolicyLoss within_divergence(const PolicyInputs& in, const PolicyArgs& args, const at::Tensor& divergence) {
  const at::Tensor rises = in.advantages.gt(0), d = in.log_ratio.detach();
  PolicyLoss result;
  result.above = divergence.gt(args.dppo_threshold_high).logical_and(d.gt(0));
  result.below = divergence.gt(args.dppo_threshold_low).logical_and(d.lt(0));
  result.clipped = at::where(rises, result.above, result.below);
  result.loss =
      -in.ratio.detach().clamp_max(args.dppo_max_ratio) * in.advantages * in.log_probs * result.clipped.logical_not();
  return result;
}

PolicyLoss dppo_tv(const PolicyInputs& in, const LossSettings& settings) {
  const at::Tensor now = in.log_probs.detach(), before = now - in.log_ratio.detach();
  return within_divergence(in, settings.policy, (now.exp() - before.exp()).abs());
}

PolicyLoss dppo_kl(const PolicyInputs& in, const LossSettings& settings) {
  const at::Tensor now = in.log_probs.detach(), before = now - in.log_ratio.detach();
  constexpr double kLeast = 1e-8;  // added to the other tokens' probability, so that it is not 0
  const auto another = [](const at::Tensor& log_prob) { return -at::expm1(log_prob) + kLeast; };
  const at::Tensor rest = -at::expm1(before) * (another(before) / another(now)).log();
  return within_divergence(in, settings.policy, before.exp() * (before - now) + rest);
}

PolicyLoss topr_response(const PolicyInputs& in, const LossSettings&) {
  const SequenceSums sums = sequence_sums(in.log_ratio.detach(), in.response_mask, in.cu_seqlens, in.bounds);
  const at::Tensor r = sums.on_tokens(token_ratio(sums.sums)), falls = in.advantages.lt(0);
  PolicyLoss result = unclipped(in, -at::where(falls, r.clamp_max(1), at::ones_like(r)) * in.advantages * in.log_probs);
  result.clipped = result.above = r.gt(1).logical_and(falls);
  return result;
}

/// Spreads the squared log-ratio of a response evenly over its tokens.
PolicyLoss kimi15_response(const PolicyInputs& in, const LossSettings& settings) {
  const PolicyArgs& args = settings.policy;
  const SequenceSums sums = sequence_sums(in.log_ratio, in.response_mask, in.cu_seqlens, in.bounds);
  const at::Tensor share = sums.on_tokens(sums.sums.square() / sums.counts);
  return unclipped(in, -in.advantages * in.log_probs + share * (args.kimi15_tau * 0.5));
}

constexpr PolicyLossKind kKinds[] = {
    {.name = "ppo", .compute = ppo},
    {.name = "vanilla", .compute = vanilla},
    {.name = "tis", .compute = tis},
    {.name = "topr", .needs_sign = true, .compute = topr},
    {.name = "cispo", .compute = cispo},
    {.name = "kimi15", .compute = kimi15},
    {.name = "gmpo", .own_ratio = "a mean of token ratios", .compute = gmpo},
    {.name = "sapo", .compute = sapo},
    {.name = "dppo_tv", .own_ratio = "a token's probability", .compute = dppo_tv},
    {.name = "dppo_kl", .own_ratio = "a token's probability", .compute = dppo_kl},
    {.name = "topr_response", .own_ratio = "a ratio of the whole response", .compute = topr_response},
    {.name = "kimi15_response", .own_ratio = "a ratio of the whole response", .compute = kimi15_response},
};

}  // namespace

std::span<const PolicyLossKind> registry(const PolicyLossKind*) {
  return kKinds;
}

void PolicyArgs::fields(Keys& v) {
  const auto is_variant = [this](auto... kinds) { return ((pg_variant == Chosen<PolicyLossKind>(kinds)) || ...); };
  v("pg_variant", pg_variant, "policy loss");
  v("tis_lower_bound", tis_lower_bound, "tis: lower bound of the ratio that weights a token", within(0, 1'000'000),
    only_if(is_variant("tis"), pg_variant));
  v("tis_upper_bound", tis_upper_bound, "tis: upper bound of the ratio that weights a token", within(0, 1'000'000),
    only_if(is_variant("tis"), pg_variant));
  v("topr_positive_weight", topr_positive_weight, "topr: weight of responses with a score above 0",
    within(0, 1'000'000), only_if(is_variant("topr"), pg_variant));
  v("topr_negative_weight", topr_negative_weight, "topr: weight of responses with a score of 0 or below",
    within(0, 1'000'000), only_if(is_variant("topr"), pg_variant));
  v("cispo_epsilon_low", cispo_epsilon_low, "cispo: the ratio that weights a token is at least 1 - this", within(0, 1),
    only_if(is_variant("cispo"), pg_variant));
  v("cispo_epsilon_high", cispo_epsilon_high, "cispo: the ratio that weights a token is at most 1 + this",
    within(0, 1'000'000), only_if(is_variant("cispo"), pg_variant));
  v("cispo_use_unified_mask", cispo_use_unified_mask, "cispo: no gradient for tokens for which PPO's clip has none",
    only_if(is_variant("cispo"), pg_variant));
  v("kimi15_tau", kimi15_tau, "kimi15, kimi15_response: weight of the squared log-ratio", within(0, 1'000'000),
    only_if(is_variant("kimi15", "kimi15_response"), pg_variant));
  v("gmpo_epsilon_low", gmpo_epsilon_low, "gmpo: where A < 0, a token's log-ratio is clipped to at least -this",
    within(0, 1'000'000), only_if(is_variant("gmpo"), pg_variant));
  v("gmpo_epsilon_high", gmpo_epsilon_high, "gmpo: where A > 0, a token's log-ratio is clipped to at most this",
    within(0, 1'000'000), only_if(is_variant("gmpo"), pg_variant));
  v("sapo_tau_pos", sapo_tau_pos, "sapo: how fast the gradient of a token with A > 0 fades as its ratio leaves 1",
    within(0.001, 1000), only_if(is_variant("sapo"), pg_variant));
  v("sapo_tau_neg", sapo_tau_neg, "sapo: how fast the gradient of a token with A <= 0 fades as its ratio leaves 1",
    within(0.001, 1000), only_if(is_variant("sapo"), pg_variant));
  v("dppo_threshold_low", dppo_threshold_low,
    "dppo_tv, dppo_kl: above this divergence, a token is not made less "
    "likely",
    within(0, 1000), only_if(is_variant("dppo_tv", "dppo_kl"), pg_variant));
  v("dppo_threshold_high", dppo_threshold_high,
    "dppo_tv, dppo_kl: above this divergence, a token is not made more "
    "likely",
    within(0, 1000), only_if(is_variant("dppo_tv", "dppo_kl"), pg_variant));
  v("dppo_max_ratio", dppo_max_ratio, "dppo_tv, dppo_kl: upper bound of the ratio that weights a token",
    within(0, 1'000'000), only_if(is_variant("dppo_tv", "dppo_kl"), pg_variant));
}

}  // namespace roll
