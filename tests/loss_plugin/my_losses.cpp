// Losses of one's own, complete: a clipped PPO loss with a KL to the reference and a mask of its own, and a reduction
// of the policy term. And how not to do it: `local_mean`, which `roll check-loss` finds out.
//
//   actor_train:
//     loss_func: {library: build/libmy_losses.so, name: kl_ppo, args: {beta: 0.05, clip: 0.2, first_tokens: 0}}
#include <roll/loss.h>

namespace {

/// [T] 1 where a token is among the first `n` of its response; n = 0: everywhere.
at::Tensor first_tokens(const roll::LossContext& c, int64_t n) {
  const at::Tensor mask = c.mask("final_response_mask");
  if (n == 0) return at::ones_like(mask);
  at::Tensor chosen = at::zeros_like(mask);
  for (size_t b = 0; b + 1 < c.cu_seqlens().size(); ++b) {
    const at::Tensor m = mask.slice(0, c.cu_seqlens()[b], c.cu_seqlens()[b + 1]);
    chosen.slice(0, c.cu_seqlens()[b], c.cu_seqlens()[b + 1]).copy_(m.cumsum(0).le(n));
  }
  return chosen;
}

roll::LossOutput kl_ppo(const roll::LossContext& c) {
  const double clip = c.number("clip", 0.2), beta = c.number("beta", 0.05);
  const at::Tensor log_probs = c.tensor("log_probs"), advantages = c.tensor("advantages");
  const at::Tensor chosen = first_tokens(c, static_cast<int64_t>(c.number("first_tokens", 0)));
  const at::Tensor ratio = roll::bounded_exp(log_probs - c.tensor("old_log_probs"));
  const at::Tensor policy = -at::minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages);
  const at::Tensor kl = roll::approx_kl(log_probs, c.tensor("ref_log_probs"), "k3");
  const at::Tensor loss = c.agg_loss((policy + beta * kl) * chosen, "final_response_mask");
  return {loss,
          {{"actor/my_policy@sum", c.agg_metric(policy, "final_response_mask")},
           {"actor/my_kl@sum", c.agg_metric(kl, "final_response_mask")},
           {"actor/my_chosen_tokens@sum", (chosen * c.mask("final_response_mask")).sum().item<double>()}}};
}

/// token-mean whatever loss_agg_mode says, on the policy term only.
roll::LossOutput token_mean(const roll::LossContext& c) {
  return {c.agg_loss(c.tensor("pg_loss"), "final_response_mask", "token-mean"), {}};
}

/// Wrong: the mean of this micro-batch is not a share of the mini-batch's mean.
roll::LossOutput local_mean(const roll::LossContext& c) {
  const at::Tensor mask = c.mask("final_response_mask");
  return {(-c.tensor("log_probs") * c.tensor("advantages") * mask).sum() / mask.sum().clamp_min(1), {}};
}

roll::LossOutput failing(const roll::LossContext& c) {
  return {c.tensor("no_such_tensor").sum(), {}};
}

}  // namespace

ROLL_LOSS(kl_ppo, kl_ppo)
ROLL_LOSS(token_mean, token_mean)
ROLL_LOSS(local_mean, local_mean)
ROLL_LOSS(failing, failing)

extern "C" const roll::LossExport roll_loss_too_new;
const roll::LossExport roll_loss_too_new{roll::kLossAbiVersion + 1, TORCH_VERSION, kl_ppo};
extern "C" const roll::LossExport roll_loss_other_torch;
const roll::LossExport roll_loss_other_torch{roll::kLossAbiVersion, "1.0.0", kl_ppo};
