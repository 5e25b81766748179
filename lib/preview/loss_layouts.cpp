#include "preview/loss_layouts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "dist/thread_ranks.h"
#include "preview/whole_loss.h"
#include "settings/placement.h"
#include "step/step_settings.h"
#include "step/step_trainer.h"

namespace roll {

namespace {

/// Placeholder shape of the models; it only sets the costs for distributing sequences.
const ModelSpec kPlaceholderSpec{.vocab_size = 1,
                                 .hidden_size = 64,
                                 .intermediate_size = 128,
                                 .num_layers = 2,
                                 .num_heads = 4,
                                 .num_kv_heads = 4,
                                 .head_dim = 16};

struct Cut {
  std::string name;
  int64_t micro_batch = 1;  // sequences, if not packed
  PackingArgs packing{};
};

struct Layout {
  int num_ranks = 1;
  Cut cut;
  int64_t shuffle = 1;  // step number, which seeds the shuffle of the mini-batches
  std::string text() const { return fmt::format("ranks {}, {}, shuffle {}", num_ranks, cut.name, shuffle); }
};

std::vector<Cut> list_cuts(const LossStep& step) {
  std::vector<Cut> cuts;
  for (const int64_t size : {int64_t{1}, int64_t{3}, step.mini_batch})
    cuts.push_back({fmt::format("micro-batches of {} sequence{}", size, size == 1 ? "" : "s"), size});
  size_t longest = 0;
  for (const RolloutRecord& record : step.records)
    longest = std::max(longest, record.prompt_ids.size() + record.response_ids.size());
  for (const PackAlgorithm algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance}) {
    Cut& cut = cuts.emplace_back();
    cut.packing.use_sequence_packing = true;
    const auto budget = static_cast<int64_t>(2 * longest);
    cut.packing.sequence_packing_args = {.algorithm = algorithm,
                                         .max_packed_sequence_length_train = budget,
                                         .max_packed_sequence_length_forward = budget};
    cut.name = fmt::format("packed into {} tokens, {}", 2 * longest,
                           algorithm == PackAlgorithm::kNone ? "greedily" : "balanced");
  }
  return cuts;
}

std::vector<Layout> suggest_layouts(const LossStep& step) {
  std::vector<Layout> layouts;
  for (const int num_ranks : {1, 2, 4})
    for (const Cut& cut : list_cuts(step))
      for (const int64_t shuffle : {1, 2})
        if (num_ranks <= step.mini_batch) layouts.push_back({num_ranks, cut, shuffle});
  return layouts;
}

/// Returns the user's configuration in another layout; loss and experience stay unchanged.
Config configured(Config config, const LossStep& step, const Layout& layout) {
  config.rollout_batch_size =
      config.agentic.is_used() ? step.num_sequences() : step.num_sequences() / config.num_return_sequences_in_group;
  config.rollout_replay.reset();
  config.rewards.clear();
  config.ppo_epochs = 1;
  config.critic_warmup = 0;
  config.enable_old_logprobs_recompute = true;                         // the reference loss uses them too
  config.max_nonfinite_updates = std::numeric_limits<int64_t>::max();  // a non-finite loss is reported as a deviation
  std::vector<WorkerConfig*> workers = {&config.actor_infer, &config.reference};
  for (const TrainableRole& row : trainable_roles()) workers.push_back(&(config.*row.worker));
  for (auto& [name, teacher] : config.teacher) {
    workers.push_back(&teacher.model);
    teacher.domains.clear();  // the step's domains are not the user's
  }
  for (WorkerConfig* worker : workers) {
    worker->ranks = all_ranks(layout.num_ranks);
    StrategyConfig& strategy = worker->strategy_args.strategy_config;
    strategy = {.use_distributed_optimizer = strategy.use_distributed_optimizer};
    worker->model_args.freeze_module_prefix.clear();
    worker->training_args.train_batch_size = step.mini_batch;
    worker->training_args.per_device_train_batch_size = layout.cut.micro_batch;
    worker->infer_batch_size = layout.cut.micro_batch;
    const SharePrompts share_prompts = worker->packing.share_prompts;
    worker->packing = layout.cut.packing;
    worker->packing.share_prompts = share_prompts;
  }
  return config;
}

/// Returns the table's entries for the tokens of a micro-batch.
at::Tensor read_table(const at::Tensor& table, const Batch& micro_batch) {
  return table.index_select(-1, micro_batch.tokens.ids);
}

ForwardPass table_forward(const at::Tensor& table) {
  return [table](const Batch& micro_batch) { return read_table(table, micro_batch); };
}

/// Returns models whose forward reads tables. Models in training have tables with gradients.
StepModels make_table_models(const TokenTables& tables, const StepSettings& settings, Communicator& dp) {
  StepModels models;
  for (const auto& [role, place] : settings.places.roles) models.roles[role].spec = kPlaceholderSpec;
  for (const RolePass& pass : settings.forwards.passes) {
    const at::Tensor& table = pass.finding == Finding::kOldLogProbs ? tables.old_log_probs
                              : pass.finding == Finding::kValues    ? tables.old_values
                                                                    : tables.ref_log_probs;
    models.roles[pass.role].forward = table_forward(pass.width == 2 ? at::stack({table, tables.energies}) : table);
  }
  const at::Tensor log_probs = tables.log_probs.clone(), entropy = tables.entropy.clone();
  const auto policy = [log_probs, entropy](const Experience& e) -> Computed {
    return {.policy = {read_table(log_probs, e) * e.response_mask(), read_table(entropy, e) * e.response_mask()}};
  };
  models.roles[kPolicyRole].trained.emplace(Trained{{{"log_probs", log_probs}, {"entropy", entropy}}, dp, policy});
  if (!settings.find_training(kCriticRole)) return models;
  const at::Tensor values = tables.values.clone();
  const auto critic = [values](const Experience& e) -> Computed { return {.values = read_table(values, e)}; };
  models.roles[kCriticRole].trained.emplace(Trained{{{"values", values}}, dp, critic});
  return models;
}

LossAndGradient to_result(const FirstUpdates& updates) {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, gradient] : updates.gradients) gradients.push_back(gradient.to(at::kDouble));
  return {updates.losses.at(0).second, at::cat(gradients)};
}

using Results = ByRole<LossAndGradient>;

/// Trains one step on one rank, which holds every n-th response.
Results train_step(Communicator& world, const LossStep& loss_step, const StepSettings& settings, int64_t number) {
  std::ostream null_stream(nullptr);
  Log log(null_stream, null_stream, {.rank = world.rank(), .num_ranks = world.size()});
  std::vector<RolloutRecord> local;
  for (size_t i = world.rank(); i < loss_step.records.size(); i += world.size()) local.push_back(loss_step.records[i]);

  Meshes meshes(world);
  RoleMeshes roles = role_meshes(settings.places, meshes);
  StepTrainer trainer(settings, make_table_models(loss_step.tables, settings, roles.policy().mesh().dp()),
                      role_losses(settings), roles, log);
  RlStep step{.number = number};
  ByRole<FirstUpdates> first_updates;
  trainer.distribute(step, local);
  if (roles.roles_among_learners) trainer.learn(step, {.first = &first_updates});
  Results results;
  for (const auto& [role, updates] : first_updates)
    if (!updates.losses.empty()) results[role] = to_result(updates);  // only roles with tables have updates
  return results;
}

LayoutDeviation deviation(const std::string& role, const Layout& layout, const LossAndGradient& exact,
                          const LossAndGradient& computed) {
  const double loss_scale = std::max(std::abs(exact.loss), exact.gradient.abs().sum().item<double>());
  const double norm = exact.gradient.norm().item<double>();
  const auto relative = [](double gap, double scale) { return scale > 0 ? gap / scale : gap; };
  return {role, layout.text(), relative(std::abs(computed.loss - exact.loss), loss_scale),
          relative((computed.gradient - exact.gradient).norm().item<double>(), norm)};
}

}  // namespace

std::vector<LayoutDeviation> check_layouts(const LossStep& step, const Config& config) {
  const WholeLoss exact(step, config);
  std::vector<LayoutDeviation> actor_deviations, critic_deviations;
  for (const Layout& layout : suggest_layouts(step)) {
    const StepSettings settings = step_settings(configured(config, step, layout));
    const std::vector<int64_t> mini_batch =
        epoch_mini_batches(settings.policy().epochs, step.num_sequences(), layout.shuffle, 0).front();
    const LossAndGradient exact_actor = exact.actor(mini_batch);
    Results results;
    run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
      const Results local_results = train_step(world, step, settings, layout.shuffle);
      if (world.is_first()) results = local_results;
    });
    actor_deviations.push_back(deviation("actor", layout, exact_actor, results.at(kPolicyRole)));
    if (results.contains(kCriticRole))
      critic_deviations.push_back(deviation("critic", layout, exact.critic(mini_batch), results.at(kCriticRole)));
  }
  std::ranges::move(critic_deviations, std::back_inserter(actor_deviations));
  return actor_deviations;
}

}  // namespace roll
