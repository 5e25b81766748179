#include "train/summary.h"

#include <fmt/format.h>

#include "track/curve.h"

namespace roll {

std::string describe_roles(const Roles& roles, const Config& config, at::Device device) {
  const ModelSpec& spec = roles.policy_spec;
  return fmt::format("policy: {}, {:.2f} M parameters, {} on {}{}{}", spec.architecture->name,
                     static_cast<double>(spec.num_parameters()) / 1e6,
                     c10::toString(model_dtype(config.actor_train.model_args, device)), device.str(),
                     config.uses_reference() ? "; reference: yes" : "", config.uses_critic() ? "; critic: yes" : "");
}

std::vector<std::string> rlvr_headline() {
  return {"score/mean",
          "val_correct/all/mean",
          "kl",
          "actor/pg_loss",
          "actor/entropy",
          "actor/clipfrac",
          "actor/grad_norm",
          "critic/loss",
          "actor/lr",
          "token/response_length/mean",
          "perf/mfu",
          "perf/tokens_per_s_per_rank",
          "time/step_total"};
}

Json to_json(const History& history) {
  return {{"scores", history.scores}, {"validated", history.validated}};
}

History history_from(const Json& json) {
  return {json.at("scores").get<std::vector<double>>(), json.at("validated").get<std::vector<double>>()};
}

void tell_history(const History& history, Log& log) {
  if (history.scores.size() > 1) log.info("training score by step:\n{}", plot_curve(history.scores, 60, 8));
  if (history.validated.size() > 1)
    log.info("validation, share of right responses before: {:.4f}, after: {:.4f}", history.validated.front(),
             history.validated.back());
}

}  // namespace roll
