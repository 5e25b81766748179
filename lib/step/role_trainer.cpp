#include "step/role_trainer.h"

#include <ATen/ATen.h>

#include "dist/messages.h"
#include "records/messages.h"

namespace roll {

namespace {

/// Runs the plan; if `first_updates` is set, runs the first update separately and records it.
Metrics run_plan(const Experience& experience, UpdatePlan plan, Learner& learner, Mesh& mesh,
                 const MicroBatchLoss& loss, FirstUpdates* first_updates, const Prepare& prepare) {
  if (!first_updates) return run_updates(experience, plan, learner, mesh, loss, prepare);
  const Partition rest(plan.mini_batches.begin() + 1, plan.mini_batches.end());
  plan.mini_batches.resize(1);
  learner.keep_gradients(true);
  Metrics metrics = run_updates(experience, plan, learner, mesh, loss, prepare);
  learner.keep_gradients(false);
  const std::string& role = plan.settings.prefix;
  for (const auto& [name, gradient] : learner.kept_gradient())
    first_updates->gradients.emplace_back(role + "." + name, gradient.to(at::kCPU));
  first_updates->traces.emplace_back(role, learner.trace());
  first_updates->losses.emplace_back(role, learner.last_loss());
  plan.mini_batches = rest;
  plan.num_done = 1;
  metrics.merge(run_updates(experience, plan, learner, mesh, loss, prepare));
  return metrics;
}

}  // namespace

RoleTrainer::RoleTrainer(const TrainingSettings& settings, const EpochRule& epochs, at::Device device,
                         const NamedTensors& parameters, const LearnerRanks& ranks, Mesh& mesh, Log& log)
    : updates_(settings.updates),
      epochs_(epochs),
      device_(device),
      mesh_(mesh),
      log_(log),
      learner_(settings.key, parameters, settings.learner, ranks) {}

Metrics RoleTrainer::train(TrainingStep step, const MicroBatchLoss& loss, FirstUpdates* first_updates,
                           const Prepare& prepare) {
  UpdatePlan plan{.settings = updates_,
                  .rule = epochs_.micro_batches,
                  .sizes = step.facts.sizes(),
                  .num_groups = step.num_groups,
                  .device = device_,
                  .phase = {&log_, "train " + updates_.prefix},
                  .step = step.number,
                  .source = step.source,
                  .empty_pass = step.empty_pass,
                  .after_update = step.after_update};
  Metrics metrics;
  for (int64_t epoch = 0; epoch < epochs_.num_epochs; ++epoch) {
    Distribution epoch_distribution{mesh_groups(mesh_.world().size(), mesh_.shape()),
                                    epoch_shares(epochs_, plan.sizes, step.number, epoch)};
    step.experience = redistribute(step.experience, step.facts, step.distribution, epoch_distribution, mesh_.world());
    step.distribution = std::move(epoch_distribution);
    plan.mini_batches = epoch_mini_batches(epochs_, step.facts.num_sequences(), step.number, epoch);
    metrics.merge(
        run_plan(step.experience, plan, learner_, mesh_, loss, epoch == 0 ? first_updates : nullptr, prepare));
    plan.num_done += std::ssize(plan.mini_batches);
  }
  return metrics;
}

void broadcast(FirstUpdates& updates, RoleMesh& role) {
  if (role.is_everywhere()) return;
  FirstUpdateMessage local;
  std::vector<at::Tensor> parts{at::empty({0})};
  for (const auto& [name, gradient] : updates.gradients) {
    local.gradients.push_back({name, gradient.sizes().vec()});
    parts.push_back(gradient.to(at::kFloat).flatten());
  }
  for (const auto& [name, trace] : updates.traces) local.traces.push_back({name, trace});
  const FirstUpdateMessage message = broadcast_message(local, role);
  int64_t numel = 0;
  for (const auto& [name, shape] : message.gradients) numel += c10::multiply_integers(shape);
  at::Tensor flat = role.is_here() ? at::cat(parts) : at::empty({numel});
  role.broadcast(flat, "gradients of a first update");
  updates = {};
  for (const auto& [name, shape] : message.gradients) {
    const int64_t size = c10::multiply_integers(shape);
    updates.gradients.emplace_back(name, flat.narrow(0, 0, size).view(shape));
    flat = flat.narrow(0, size, flat.numel() - size);
  }
  for (const auto& [name, trace] : message.traces) updates.traces.emplace_back(name, trace);
}

}  // namespace roll
