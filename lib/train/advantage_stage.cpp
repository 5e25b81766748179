#include "train/advantage_stage.h"

#include <ATen/ATen.h>

#include <map>

#include "base/clock.h"
#include "model/log_probs.h"
#include "settings/batch_plan.h"
#include "train/forward.h"
#include "train/packing_metrics.h"

namespace roll {

ForwardNeeds forward_needs(const Config& config, int64_t num_ranks) {
  return {.old_log_probs =
              config.enable_old_logprobs_recompute.value_or(false) || old_log_prob_reasons(config, num_ranks).any(),
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

at::Tensor log_prob_pass(const Experience& step, const Transformer& model, const WorkerConfig& worker,
                         double temperature, Mesh& mesh, const Phase& phase) {
  const auto rule = batch_rule(worker, Stage::kForward, model.spec());
  return forward_step(
      step, rule, model.device(), 1, mesh,
      [&](const Batch& micro_batch) {
        const at::Tensor wanted = micro_batch.mask("response_mask").to(at::kBool);
        return std::vector<at::Tensor>{
            token_log_probs(model, micro_batch.tokens, temperature, /*with_entropy=*/false, /*recompute=*/false, wanted)
                .log_probs};
      },
      phase)[0];
}

}  // namespace

void run_forwards(Experience& step, const Config& config, const Roles& roles, const ForwardNeeds& needs,
                  const RoleMeshes& meshes, Log& log, Metrics& metrics) {
  const double temperature = log_prob_temperature(config);
  const std::vector<int64_t> lengths = lengths_of(step);
  const auto add_packing = [&](const char* who, const WorkerConfig& worker, const ModelSpec& spec) {
    add_forward_packing_metrics(who, lengths, batch_rule(worker, Stage::kForward, spec),
                                worker.data_ranks(meshes.actor.world().size()), metrics);
  };
  Traffic& traffic = meshes.actor.world().traffic();
  Stopwatch watch;
  if (needs.ref_log_probs) {
    traffic.set_phase("reference");
    step.ref_log_probs = log_prob_pass(step, *roles.reference, config.reference, temperature, meshes.reference,
                                       {&log, "reference log-probs"});
    metrics.add("time/ref_log_probs", watch.restart());
    add_packing("reference", config.reference, roles.reference->spec());
  }
  if (needs.old_log_probs) {
    traffic.set_phase("old_log_probs");
    step.old_log_probs =
        log_prob_pass(step, roles.actor, config.actor_train, temperature, meshes.actor, {&log, "old log-probs"});
    metrics.add("time/old_log_probs", watch.restart());
    add_packing("old_log_probs", config.actor_train, roles.actor.spec());
  }
  if (needs.values) {
    traffic.set_phase("values");
    const auto rule = batch_rule(config.critic, Stage::kForward, roles.critic->spec());
    step.values = forward_step(
        step, rule, roles.critic->device(), 1, meshes.critic,
        [&](const Batch& micro_batch) { return std::vector<at::Tensor>{roles.critic->values(micro_batch.tokens)}; },
        {&log, "values"})[0];
    metrics.add("time/values", watch.restart());
    add_packing("values", config.critic, roles.critic->spec());
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
