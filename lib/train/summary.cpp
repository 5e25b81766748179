#include "train/summary.h"

#include <fmt/format.h>

#include "model/device.h"
#include "settings/describe_algorithm.h"
#include "settings/training_plan.h"
#include "track/curve.h"

namespace roll {

std::string describe_policy(const Roles& roles, const Config& config, at::Device device) {
  const ModelSpec& spec = roles.policy_spec();
  return fmt::format("policy: {}, {:.2f} M parameters, {} on {}{}", spec.architecture->name,
                     static_cast<double>(spec.num_parameters()) / 1e6,
                     compute_dtype_name(model_dtype(config.actor_train.model_args, device)), device.str(),
                     spec.lora ? "; " + describe(*spec.lora) : "");
}

std::string describe_roles(const Roles& roles, const Config& config, at::Device device) {
  const std::string teachers = config.distils() ? fmt::format("; teachers: {}", config.teacher.size()) : "";
  std::string others;
  for (const TrainableRole& row : trainable_roles())
    if (row.worker != &Config::actor_train && (config.*row.is_used)()) others += fmt::format("; {}: yes", row.metrics);
  return fmt::format("{}{}{}{}", describe_policy(roles, config, device),
                     config.uses_reference() ? "; reference: yes" : "", teachers, others);
}

namespace {

RunFace sampling_face(const Config& config, const std::string& policy) {
  return {.name = config.exp_name,
          .model = policy,
          .algorithm = "samples only",
          .headline = {.goal = {"score", "score/mean"},
                       .others = {{"length", "token/response_length/mean"},
                                  {"cut", "rollout/truncated_ratio"},
                                  {"groups that differ", "group/mixed_ratio"},
                                  {"tokens/s", "system/tps"}}},
          .curves = {{"score", "score/mean"}, {"response length", "token/response_length/mean"}}};
}

}  // namespace

RunFace describe_run(const Config& config, const std::string& roles) {
  if (!config.trains()) return sampling_face(config, roles);
  const Shown kl{"KL", config.distils() ? "teacher_kl" : config.loss.use_kl_loss ? "actor/kl_loss" : "kl"};
  return {.name = config.exp_name,
          .model = roles,
          .algorithm = describe_algorithm(config),
          .headline = {.goal = {"score", "score/mean"},
                       .others = {{"right in validation", "val_correct/all/mean"},
                                  kl,
                                  {"entropy", "actor/entropy"},
                                  {"length", "token/response_length/mean"},
                                  {"clipped", "actor/clipfrac"},
                                  {"grad norm", "actor/grad_norm"},
                                  {"value loss", "critic/loss"},
                                  {"lr", "actor/lr"},
                                  {"tokens/s", "system/tps"}}},
          .curves = {{"score", "score/mean"},
                     {"response length", "token/response_length/mean"},
                     config.uses_reference() || config.distils() ? kl : Shown{"gradient norm", "actor/grad_norm"},
                     {"entropy", "actor/entropy"}}};
}

namespace {

/// Uses words only for scores from 0 to 1; the scale of others is unknown.
std::string describe_verdict(const RolloutRecord& record) {
  if (!record.is_judged) return "not judged";
  const double score = record.score;
  if (score < 0 || score > 1) return fmt::format("score {:.4g}", score);
  return fmt::format("{} (score {:.4g})", score == 1 ? "right" : score > 0 ? "partly right" : "wrong", score);
}

}  // namespace

ShownSample make_shown_sample(const RolloutRecord& record, bool is_validation) {
  const bool is_right = record.is_judged && record.score == 1;
  std::string verdict = describe_verdict(record);
  if (record.finish_reason == "length") verdict += ", cut off at the length limit";
  return {.step = record.step,
          .is_validation = is_validation,
          .prompt = record.prompt,
          .response = record.response,
          .verdict = verdict,
          .expected = is_right ? "" : record.ground_truth};
}

std::vector<ShownSample> informative_samples(const std::vector<RolloutRecord>& validated) {
  std::vector<ShownSample> samples;
  if (!validated.empty()) samples.push_back(make_shown_sample(validated.front(), /*is_validation=*/true));
  const RolloutRecord *worst = nullptr, *best = nullptr;
  for (size_t i = 1; i < validated.size(); ++i) {
    if (!validated[i].is_judged) continue;
    if (!worst || validated[i].score < worst->score) worst = &validated[i];
    if (!best || validated[i].score > best->score) best = &validated[i];
  }
  if (worst) samples.push_back(make_shown_sample(*worst, /*is_validation=*/true));
  if (best && best->score > worst->score) samples.push_back(make_shown_sample(*best, /*is_validation=*/true));
  return samples;
}

Json to_json(const History& history) {
  return {{"scores", history.scores}, {"validated", history.validated}};
}

History history_from(const Json& json) {
  return {json.at("scores").get<std::vector<double>>(), json.at("validated").get<std::vector<double>>()};
}

void log_history(const History& history, Log& log) {
  if (history.scores.size() > 1) log.say("score by step:\n{}", plot_curve(history.scores, 60, 8));
  if (history.validated.size() > 1)
    log.say("validation, share of right responses before: {:.4f}, after: {:.4f}", history.validated.front(),
            history.validated.back());
}

}  // namespace roll
