#include "step/advantage_stage.h"

#include <ATen/ATen.h>

#include "base/clock.h"
#include "model/log_probs.h"
#include "settings/batch_plan.h"
#include "step/forward.h"
#include "step/packing_metrics.h"

namespace roll {

ForwardNeeds forward_needs(const Config& config) {
  return {.old_log_probs = config.enable_old_logprobs_recompute.value_or(false) || old_log_prob_reasons(config).any(),
          .ref_log_probs = config.uses_reference(),
          .values = config.uses_critic()};
}

double log_prob_temperature(const Config& config) {
  const double temperature = config.actor_infer.generating_args.temperature;
  return temperature == 0 ? 1.0 : temperature;
}

namespace {

ForwardPass log_probs_of(const Transformer& model, double temperature) {
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
  ForwardPass compute;  // where the role lives
  at::Tensor& result;   // over the sequences at home
  std::vector<Partition> plans{};
  Distribution at{};
  Experience share{};
  at::Tensor of_share{};
  double took_s = 0;
};

/// Where and how the role computes the step.
void plan(Pass& pass, const std::vector<int64_t>& lengths) {
  pass.plans = plan_ranks(lengths, batch_rule(pass.worker, Stage::kForward, pass.spec), pass.mesh.dp_size());
  pass.at = {world_groups(pass.mesh), shares_of({pass.plans})};
}

void compute(Pass& pass, at::Device device, Log& log) {
  pass.of_share = at::empty({0}, at::kFloat);
  if (!pass.mesh.is_here()) return;
  Mesh& mesh = pass.mesh.mesh();
  mesh.world().traffic().set_phase(pass.packed);
  const Stopwatch watch;
  const Partition micro_batches = places_in_share(pass.plans[mesh.place().dp]);
  pass.of_share = forward_share(pass.share, micro_batches, device, 1, pass.compute, {&log, pass.phase})[0].contiguous();
  pass.took_s = watch.seconds();
}

}  // namespace

void run_forwards(Experience& here, const StepFacts& step, const Distribution& home, const Config& config,
                  const Roles& roles, const ForwardNeeds& needs, const LearnerMeshes& meshes, at::Device device,
                  Log& log, Metrics& metrics) {
  const double temperature = log_prob_temperature(config);
  std::vector<Pass> passes;
  if (needs.ref_log_probs)
    passes.push_back({"ref_log_probs", "reference log-probs", "reference", config.reference, roles.policy_spec,
                      meshes.reference, roles.reference ? log_probs_of(*roles.reference, temperature) : ForwardPass(),
                      here.ref_log_probs});
  if (needs.old_log_probs)
    passes.push_back({"old_log_probs", "old log-probs", "old_log_probs", config.actor_train, roles.policy_spec,
                      meshes.actor, roles.actor ? log_probs_of(*roles.actor, temperature) : ForwardPass(),
                      here.old_log_probs});
  if (needs.values)
    passes.push_back({"values", "values", "values", config.critic, *roles.critic_spec, meshes.critic,
                      [&roles](const Batch& part) { return std::vector{roles.critic->values(part.tokens)}; },
                      here.values});
  const std::vector<int64_t> lengths = step.lengths();
  Communicator& learners = meshes.actor.world();
  learners.traffic().set_phase("forwards");
  for (Pass& pass : passes) {
    plan(pass, lengths);
    const at::Tensor ids =
        Redistribution(lengths, home, pass.at, learners).redistribute({here.tokens.ids.to(at::kInt)}, "tokens")[0];
    pass.share = make_experience(step, pass.at.share_of(learners.rank()), ids.to(at::kLong));
  }
  // All that this rank computes before it waits for others: roles that live apart work at the same time.
  for (Pass& pass : passes) compute(pass, device, log);
  learners.traffic().set_phase("forwards");
  for (Pass& pass : passes) {
    pass.result = Redistribution(lengths, pass.at, home, learners).redistribute({pass.of_share}, "forward results")[0];
    at::Tensor took_s = at::scalar_tensor(pass.took_s, at::kDouble);
    pass.mesh.broadcast(took_s, "times of forwards");
    metrics.add(fmt::format("time/{}", pass.name), took_s.item<double>());
    const auto rule = batch_rule(pass.worker, Stage::kForward, pass.spec);
    add_packing_metrics(pass.packed, batch_stats(pass.plans, lengths, rule.packing), metrics);
  }
}

void add_sampler_gap(const Experience& here, const at::Tensor& log_probs, Metrics& metrics) {
  const at::Tensor gaps = (log_probs - here.sampler_log_probs).abs().masked_select(here.response_mask().ne(0));
  if (gaps.numel() == 0) return;
  metrics.add("actor/sampler_log_prob_gap/mean@mean",
              gaps.sum(at::kDouble).item<double>() / static_cast<double>(gaps.numel()),
              static_cast<double>(gaps.numel()));
  metrics.add("actor/sampler_log_prob_gap/max@max", gaps.max().item<double>());
}

}  // namespace roll
