#include "collect/cut_responses.h"

#include "collect/rollout_metrics.h"

namespace roll {

void CutResponses::warn(const Metrics& metrics, int64_t step, Log& log) {
  for (const std::string& domain : domains_) {
    const bool is_cut = metric_value(metrics, domain + "/rollout/truncated_ratio") >= 1;
    if (!is_cut || !warned_domains_.insert(domain).second) continue;
    log.warn(
        "rewards.{}: every response of step {} was cut off at {} tokens, before it could give a final answer; raise "
        "response_length, or check that the model can end its turn",
        domain, step, max_new_tokens_);
  }
}

}  // namespace roll
