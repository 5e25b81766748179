#include "train/advantage_stage.h"

#include <ATen/ATen.h>

#include <map>

#include "base/clock.h"
#include "model/log_probs.h"
#include "settings/batch_plan.h"
#include "train/forward.h"
#include "train/packing_metrics.h"

namespace roll {

ForwardNeeds forward_needs(const Config& config) {
  return {.old_log_probs = config.enable_old_logprobs_recompute.value_or(false) || old_log_prob_reasons(config).any(),
          .ref_log_probs = config.uses_reference(),
          .values = config.uses_critic()};
}

Experience experience_from(const std::vector<RolloutRecord>& records) {
  std::map<int64_t, const RolloutRecord*> baselines;  // by group
  for (const RolloutRecord& record : records)
    if (record.is_baseline) baselines[record.group_index] = &record;
  std::vector<Sample> samples;
  for (const RolloutRecord& record : records) {
    if (record.is_baseline) continue;
    samples.push_back({.prompt_ids = record.prompt_ids,
                       .response_ids = record.response_ids,
                       .sequence_index = std::ssize(samples),
                       .group_index = record.group_index,
                       .score = record.score,
                       .truncated = record.finish_reason == "length",
                       .difficulty = record.difficulty,
                       .log_probs = record.log_probs,
                       .reward = record.reward,
                       .is_judged = record.is_judged,
                       .domain = record.domain});
    const auto baseline = baselines.find(record.group_index);
    if (baseline == baselines.end()) continue;
    samples.back().baseline = baseline->second->reward;
    samples.back().is_judged = record.is_judged && baseline->second->is_judged;
  }
  return make_experience(samples);
}

double log_prob_temperature(const Config& config) {
  const double temperature = config.actor_infer.generating_args.temperature;
  return temperature == 0 ? 1.0 : temperature;
}

namespace {

using Compute = std::function<std::vector<at::Tensor>(const Batch&)>;

Compute log_probs_of(const Transformer& model, double temperature) {
  return [&model, temperature](const Batch& micro_batch) {
    const at::Tensor wanted = micro_batch.mask("response_mask").to(at::kBool);
    return std::vector<at::Tensor>{
        token_log_probs(model, micro_batch.tokens, temperature, /*with_entropy=*/false, /*recompute=*/false, wanted)
            .log_probs};
  };
}

/// A forward over the step by a role.
struct Pass {
  const char* name;    // in metrics: time/<name>
  const char* phase;   // of the progress line
  const char* packed;  // of the packing and traffic metrics
  const WorkerConfig& worker;
  const ModelSpec& spec;
  RoleMesh& mesh;
  Compute compute;  // where the role lives
  at::Tensor& result;
  double took_s = 0;
};

}  // namespace

void run_forwards(Experience& step, const Config& config, const Roles& roles, const ForwardNeeds& needs,
                  const RoleMeshes& meshes, at::Device device, Log& log, Metrics& metrics) {
  const double temperature = log_prob_temperature(config);
  std::vector<Pass> passes;
  if (needs.ref_log_probs)
    passes.push_back({"ref_log_probs", "reference log-probs", "reference", config.reference, roles.policy_spec,
                      meshes.reference, roles.reference ? log_probs_of(*roles.reference, temperature) : Compute(),
                      step.ref_log_probs});
  if (needs.old_log_probs)
    passes.push_back({"old_log_probs", "old log-probs", "old_log_probs", config.actor_train, roles.policy_spec,
                      meshes.actor, roles.actor ? log_probs_of(*roles.actor, temperature) : Compute(),
                      step.old_log_probs});
  if (needs.values)
    passes.push_back({"values", "values", "values", config.critic, *roles.critic_spec, meshes.critic,
                      [&roles](const Batch& part) { return std::vector{roles.critic->values(part.tokens)}; },
                      step.values});
  // All that this rank computes first: roles that live apart work at the same time.
  for (Pass& pass : passes) {
    pass.result = at::zeros({step.tokens.num_tokens()}, at::kFloat);
    if (!pass.mesh.is_here()) continue;
    pass.mesh.world().traffic().set_phase(pass.packed);
    const Stopwatch watch;
    const auto rule = batch_rule(pass.worker, Stage::kForward, pass.spec);
    pass.result = forward_step(step, rule, device, 1, pass.mesh.mesh(), pass.compute, {&log, pass.phase})[0];
    pass.took_s = watch.seconds();
  }
  const std::vector<int64_t> lengths = lengths_of(step);
  for (Pass& pass : passes) {
    pass.mesh.tell(pass.result, "forward results");
    at::Tensor took_s = at::scalar_tensor(pass.took_s, at::kDouble);
    pass.mesh.tell(took_s, "times of forwards");
    metrics.add(fmt::format("time/{}", pass.name), took_s.item<double>());
    add_forward_packing_metrics(pass.packed, lengths, batch_rule(pass.worker, Stage::kForward, pass.spec),
                                pass.worker.data_ranks(), metrics);
  }
}

void add_sampler_gap(const Experience& step, const std::vector<RolloutRecord>& records, Metrics& metrics) {
  if (!step.old_log_probs.defined()) return;
  double sum = 0, largest = 0;
  int64_t count = 0;
  for (int64_t s = 0; s < step.num_sequences(); ++s) {
    if (!step.judged[s]) continue;  // its log-probs were not wanted
    const auto& sampled = records[s].log_probs;
    const at::Tensor gap = (response_part(step, step.old_log_probs, s) - at::tensor(sampled, at::kFloat)).abs();
    if (gap.numel() == 0) continue;
    sum += gap.sum().item<double>();
    largest = std::max(largest, gap.max().item<double>());
    count += gap.numel();
  }
  if (count == 0) return;
  metrics.add("actor/sampler_log_prob_gap/mean", sum / static_cast<double>(count));
  metrics.add("actor/sampler_log_prob_gap/max", largest);
}

}  // namespace roll
