#include "step/role_forwards.h"

#include <ATen/ATen.h>

#include "base/clock.h"
#include "step/step_metrics.h"

namespace roll {

namespace {

/// A forward over the step by a role.
struct Pass {
  const char* name;    // in metrics: time/<name>
  const char* phase;   // of the progress line
  const char* packed;  // of the packing and traffic metrics
  BatchRule rule;
  RoleMesh& mesh;
  const ForwardPass& compute;  // where the role lives
  at::Tensor& result;          // over the sequences at home
  std::vector<Partition> plans{};
  Distribution at{};
  Experience share{};
  at::Tensor of_share{};
  double took_s = 0;
};

/// Where and how the role computes the step.
void plan(Pass& pass, const std::vector<int64_t>& lengths) {
  pass.plans = plan_ranks(lengths, pass.rule, pass.mesh.dp_size());
  pass.at = {world_groups(pass.mesh), shares_of({pass.plans})};
}

void compute(Pass& pass, at::Device device, Log& log) {
  pass.of_share = at::empty({0}, at::kFloat);
  if (!pass.mesh.is_here()) return;
  Mesh& mesh = pass.mesh.mesh();
  mesh.world().traffic().set_phase(pass.packed);
  const Stopwatch watch;
  const Partition micro_batches = places_in_share(pass.plans[mesh.place().dp]);
  pass.of_share = forward_share(pass.share, micro_batches, device, pass.compute, {&log, pass.phase});
  pass.took_s = watch.seconds();
}

}  // namespace

void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, LearnerMeshes& meshes,
                  Log& log, Metrics& metrics) {
  Experience& here = step.here;
  const Workload of_policy = workload_of(models.policy_spec);
  std::vector<Pass> passes;
  if (settings.ref_log_probs)
    passes.push_back({"ref_log_probs", "reference log-probs", "reference", settings.reference.with(of_policy),
                      meshes.reference, models.ref_log_probs, here.ref_log_probs});
  if (settings.old_log_probs)
    passes.push_back({"old_log_probs", "old log-probs", "old_log_probs", settings.actor.with(of_policy), meshes.actor,
                      models.old_log_probs, here.old_log_probs});
  if (settings.values)
    passes.push_back({"values", "values", "values", settings.critic.with(workload_of(*models.critic_spec)),
                      meshes.critic, models.values, here.values});
  const std::vector<int64_t> lengths = step.facts.lengths();
  Communicator& learners = meshes.actor.world();
  learners.traffic().set_phase("forwards");
  for (Pass& pass : passes) {
    plan(pass, lengths);
    const at::Tensor ids =
        redistribute({here.tokens.ids.to(at::kInt)}, lengths, step.home, pass.at, learners, "tokens")[0];
    pass.share = make_experience(step.facts, pass.at.share_of(learners.rank()), ids.to(at::kLong));
  }
  // All that this rank computes before it waits for others: roles that live apart work at the same time.
  for (Pass& pass : passes) compute(pass, models.device, log);
  learners.traffic().set_phase("forwards");
  for (Pass& pass : passes) {
    pass.result = redistribute({pass.of_share}, lengths, pass.at, step.home, learners, "forward results")[0];
    at::Tensor took_s = at::scalar_tensor(pass.took_s, at::kDouble);
    pass.mesh.broadcast(took_s, "times of forwards");
    metrics.add(fmt::format("time/{}", pass.name), took_s.item<double>());
    add_packing_metrics(pass.packed, batch_stats(pass.plans, lengths, pass.rule.packing), metrics);
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
