#include "loss/dpo.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "loss/terms.h"

namespace roll {

namespace {

/// Returns [pairs, 2] float64: sums of `x` [T] over each chosen and each rejected response. float64, because a margin
/// is a difference of long sums.
at::Tensor pair_sums(const at::Tensor& x, const DpoInputs& in) {
  const at::Tensor masked = at::where(in.response_mask.ne(0), x, at::zeros({}, x.options())).to(at::kDouble);
  return sequence_sums(masked, in.response_mask.to(at::kDouble), in.axis.cu_seqlens, in.axis.bounds).sums.view({-1, 2});
}

at::Tensor pair_losses(const at::Tensor& margins, const DpoSettings& settings) {
  if (settings.ipo) return (margins - 1 / (2 * settings.beta)).square();
  const at::Tensor scaled = margins * settings.beta;
  return -(1 - settings.label_smoothing) * at::log_sigmoid(scaled) -
         settings.label_smoothing * at::log_sigmoid(-scaled);
}

}  // namespace

LossResult dpo_loss(const DpoInputs& in, const MiniBatchCounts& counts, const DpoSettings& settings) {
  const std::vector<int64_t>& pairs = in.axis.group_index;
  ROLL_CHECK_EQ(pairs.size() % 2, 0U, "a micro-batch has whole pairs");
  for (size_t b = 0; b < pairs.size(); b += 2)
    ROLL_CHECK_EQ(pairs[b], pairs[b + 1], "a chosen response is followed by its rejected one");
  const double per_pair = 1.0 / static_cast<double>(counts.at("response_mask").valid_prompts());
  const at::Tensor log_ratios = pair_sums(in.log_probs - in.ref_log_probs, in);
  const at::Tensor losses = pair_losses(log_ratios.select(1, 0) - log_ratios.select(1, 1), settings);
  const at::Tensor loss = losses.sum() * per_pair;

  const at::Tensor rewards = log_ratios.detach() * settings.beta, log_probs = pair_sums(in.log_probs.detach(), in);
  const at::Tensor chosen = rewards.select(1, 0), rejected = rewards.select(1, 1);
  const std::vector<std::pair<const char*, at::Tensor>> pair_values = {
      {"dpo/loss@sum", losses.detach()},
      {"rewards/chosen@sum", chosen},
      {"rewards/rejected@sum", rejected},
      {"rewards/margins@sum", chosen - rejected},
      {"rewards/accuracies@sum", chosen.gt(rejected).to(at::kDouble)},
      {"logps/chosen@sum", log_probs.select(1, 0)},
      {"logps/rejected@sum", log_probs.select(1, 1)}};
  std::vector<std::string> names;
  std::vector<at::Tensor> sums;
  for (const auto& [name, values] : pair_values) {
    names.emplace_back(name);
    sums.push_back(values.sum() * per_pair);
  }
  return {loss.to(at::kFloat), {}, {deferred_sums(std::move(names), sums)}};
}

}  // namespace roll
