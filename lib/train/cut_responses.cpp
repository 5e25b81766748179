#include "train/cut_responses.h"

#include "train/rollout_metrics.h"

namespace roll {

void CutResponses::warn(const Metrics& metrics, int64_t step, const Config& config, Log& log) {
  for (const auto& [domain, worker] : config.rewards) {
    const bool is_cut = value_of(metrics, domain + "/rollout/truncated_ratio") >= 1;
    if (!is_cut || !said_.insert(domain).second) continue;
    log.warn(
        "rewards.{}: every response of step {} was cut off at {} tokens, before an answer at its end could be given; "
        "raise "
        "response_length, or see whether the model knows the token that ends a turn",
        domain, step, config.actor_infer.generating_args.max_new_tokens.value_or(0));
  }
}

}  // namespace roll
