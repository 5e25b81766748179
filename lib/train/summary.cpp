#include "train/summary.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace roll {

std::string describe_roles(const Roles& roles, at::Device device) {
  const ModelSpec& spec = roles.actor.spec();
  return fmt::format("policy: {}, {:.2f} M parameters, {} on {}{}{}", spec.architecture->name,
                     static_cast<double>(spec.num_parameters()) / 1e6, c10::toString(roles.actor.dtype()), device.str(),
                     roles.reference ? "; reference: yes" : "", roles.critic ? "; critic: yes" : "");
}

void add_token_counts(const Experience& step, Metrics& metrics) {
  metrics.add("system/num_tokens", static_cast<double>(step.tokens.num_tokens()));
  metrics.add("system/samples", static_cast<double>(step.num_sequences()));
}

double training_flops(const Experience& step, const ModelSpec& spec, bool with_lm_head) {
  const int64_t wanted = with_lm_head ? step.response_mask.count_nonzero().item<int64_t>() : 0;
  double flops = 3 * spec.forward_flops(0, wanted);
  for (int64_t s = 0; s < step.num_sequences(); ++s) flops += 3 * spec.forward_flops(step.tokens.length(s), 0);
  return flops;
}

std::vector<std::string> rlvr_headline() {
  return {"critic/score/mean", "val_correct/all/mean",
          "critic/kl",         "actor/pg_loss",
          "actor/entropy",     "actor/clipfrac",
          "actor/grad_norm",   "critic/loss",
          "actor/lr",          "token/response_length/mean",
          "perf/mfu",          "perf/tokens_per_s_per_rank",
          "time/step_total"};
}

void add_system_metrics(int64_t step, double seconds, int num_ranks, Metrics& metrics) {
  double tokens = 0;
  for (const auto& [name, value] : metrics.values())
    if (name == "system/num_tokens") tokens = value;
  metrics.add("system/global_step", static_cast<double>(step));
  metrics.add("system/tps", tokens / seconds);
  metrics.add("perf/tokens_per_s_per_rank", tokens / seconds / num_ranks);
}

}  // namespace roll
