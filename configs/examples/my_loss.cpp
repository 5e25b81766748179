// A loss plug-in: PPO's clipped policy loss. build_plugin.sh builds it, `roll check-loss` proves that no layout changes
// it.
#include <roll/loss.h>

static roll::LossOutput clipped(const roll::LossContext& c) {
  const double clip = c.number("clip", 0.2);
  const at::Tensor ratio = roll::bounded_exp(c.tensor("log_probs") - c.tensor("old_log_probs"));
  const at::Tensor advantages = c.tensor("advantages");
  const at::Tensor policy = -at::minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages);
  return {c.agg_loss(policy, "final_response_mask"), {}};
}

ROLL_LOSS(clipped, clipped)
