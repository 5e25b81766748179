#include "preview/loss_layouts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "dist/thread_ranks.h"
#include "preview/whole_loss.h"
#include "settings/placement.h"
#include "step/ppo.h"
#include "step/rl_step.h"
#include "step/token_samples.h"

namespace roll {

namespace {

/// The shape of the models that the tables stand for. It only decides the costs by which sequences are distributed.
const ModelSpec kSpec{.vocab_size = 1,
                      .hidden_size = 64,
                      .intermediate_size = 128,
                      .num_layers = 2,
                      .num_heads = 4,
                      .num_kv_heads = 4,
                      .head_dim = 16};

struct Cut {
  std::string name;
  int64_t micro_batch = 1;  // sequences, where nothing is packed
  PackingArgs packing{};
};

struct Layout {
  int num_ranks = 1;
  Cut cut;
  int64_t shuffle = 1;  // number of the step, which names the shuffle of its mini-batches
  std::string text() const { return fmt::format("ranks {}, {}, shuffle {}", num_ranks, cut.name, shuffle); }
};

std::vector<Cut> cuts_of(const LossStep& step) {
  std::vector<Cut> cuts;
  for (const int64_t size : {int64_t{1}, int64_t{3}, step.mini_batch})
    cuts.push_back({fmt::format("micro-batches of {} sequence{}", size, size == 1 ? "" : "s"), size});
  size_t longest = 0;
  for (const RolloutRecord& record : step.records)
    longest = std::max(longest, record.prompt_ids.size() + record.response_ids.size());
  for (const PackAlgorithm algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance}) {
    Cut& cut = cuts.emplace_back();
    cut.packing.use_sequence_packing = true;
    cut.packing.sequence_packing_args = {.algorithm = algorithm,
                                         .max_packed_sequence_length_train = static_cast<int64_t>(2 * longest)};
    cut.name = fmt::format("packed into {} tokens, {}", 2 * longest,
                           algorithm == PackAlgorithm::kNone ? "greedily" : "balanced");
  }
  return cuts;
}

std::vector<Layout> layouts_of(const LossStep& step) {
  std::vector<Layout> layouts;
  for (const int num_ranks : {1, 2, 4})
    for (const Cut& cut : cuts_of(step))
      for (const int64_t shuffle : {1, 2})
        if (num_ranks <= step.mini_batch) layouts.push_back({num_ranks, cut, shuffle});
  return layouts;
}

/// The user's configuration with another layout; loss and experience stay as they are.
Config configured(Config config, const LossStep& step, const Layout& layout) {
  config.rollout_batch_size = step.num_sequences() / config.num_return_sequences_in_group;
  config.rollout_replay.reset();
  config.ppo_epochs = 1;
  config.critic_warmup = 0;
  config.max_nonfinite_updates = std::numeric_limits<int64_t>::max();  // a non-finite loss is reported as a deviation
  for (WorkerConfig* worker : {&config.actor_train, &config.critic}) {
    worker->ranks = all_ranks(layout.num_ranks);
    StrategyConfig& strategy = worker->strategy_args.strategy_config;
    strategy = {.use_distributed_optimizer = strategy.use_distributed_optimizer};
    worker->model_args.freeze_module_prefix.clear();
    worker->training_args.train_batch_size = step.mini_batch;
    worker->training_args.per_device_train_batch_size = layout.cut.micro_batch;
    worker->packing = layout.cut.packing;
  }
  return config;
}

/// A model whose forward looks up its results in tables.
template <class Computed, class Forward>
Trained<Computed> lookup(NamedTensors tables, Communicator& ranks, const Forward& forward) {
  for (auto& [name, table] : tables) table = table.clone();
  const auto computed = [tables, forward](const Experience& e) {
    std::vector<at::Tensor> of_tokens;
    for (const auto& [name, table] : tables) of_tokens.push_back(table.index_select(0, e.tokens.ids));
    return forward(of_tokens, e);
  };
  return {tables, ranks, kSpec, at::kCPU, computed};
}

TrainedPolicy policy_of(const TokenTables& tables, Communicator& ranks) {
  return lookup<TokenLogProbs>({{"log_probs", tables.log_probs}, {"entropy", tables.entropy}}, ranks,
                               [](const std::vector<at::Tensor>& found, const Experience& e) -> TokenLogProbs {
                                 return {found[0] * e.response_mask(), found[1] * e.response_mask()};
                               });
}

TrainedCritic critic_of(const TokenTables& tables, Communicator& ranks) {
  return lookup<at::Tensor>({{"values", tables.values}}, ranks,
                            [](const std::vector<at::Tensor>& found, const Experience&) { return found[0]; });
}

LossAndGradient result_of(const FirstUpdates& first) {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, gradient] : first.gradients) gradients.push_back(gradient.to(at::kDouble));
  return {first.losses.at(0).second, at::cat(gradients)};
}

struct Results {
  LossAndGradient actor, critic;
};

/// A step of training on one rank, which has sampled every n-th of its responses.
Results train_as(Communicator& world, const LossStep& from, const Config& config, int64_t number) {
  RoleMesh role(world, all_ranks(world.size()), &world, {});
  std::ostream nowhere(nullptr);
  Log log(nowhere, nowhere, {.rank = world.rank(), .num_ranks = world.size()});
  std::vector<RolloutRecord> mine;
  for (size_t i = world.rank(); i < from.records.size(); i += world.size()) mine.push_back(from.records[i]);

  RlStep step = distribute_step(mine, number, config, kSpec, role);
  const auto computed = [&](const at::Tensor& table) { return table.index_select(0, step.here.tokens.ids); };
  step.here.old_log_probs = computed(from.tables.old_log_probs);
  if (config.uses_reference()) step.here.ref_log_probs = computed(from.tables.ref_log_probs);
  if (config.uses_critic()) step.here.values = computed(from.tables.old_values);
  ExperienceState state(config.experience);
  complete_step(step, config, state, role);

  Results results;
  FirstUpdates of_actor, of_critic;
  TokenSamples samples(step, 0, role);
  ActorTrainer(config, policy_of(from.tables, role.mesh().dp()), role.mesh(), log)
      .train(training_step(step, config, config.actor_train, kSpec, role), &of_actor, samples);
  results.actor = result_of(of_actor);
  if (!config.uses_critic()) return results;
  CriticTrainer(config, critic_of(from.tables, role.mesh().dp()), role.mesh(), log)
      .train(training_step(step, config, config.critic, kSpec, role), &of_critic);
  results.critic = result_of(of_critic);
  return results;
}

LayoutDeviation deviation(const std::string& role, const Layout& layout, const LossAndGradient& exact,
                          const LossAndGradient& found) {
  const double loss_scale = std::max(std::abs(exact.loss), exact.gradient.abs().sum().item<double>());
  const double norm = exact.gradient.norm().item<double>();
  const auto relative = [](double gap, double scale) { return scale > 0 ? gap / scale : gap; };
  return {role, layout.text(), relative(std::abs(found.loss - exact.loss), loss_scale),
          relative((found.gradient - exact.gradient).norm().item<double>(), norm)};
}

}  // namespace

std::vector<LayoutDeviation> check_layouts(const LossStep& step, const Config& config) {
  const WholeLoss exact(step, config);
  std::vector<LayoutDeviation> of_actor, of_critic;
  for (const Layout& layout : layouts_of(step)) {
    const Config its = configured(config, step, layout);
    const std::vector<int64_t> mini_batch =
        epoch_mini_batches(its, its.actor_train, step.num_sequences(), layout.shuffle, 0).front();
    const LossAndGradient exact_actor = exact.actor(mini_batch);
    Results found;
    run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
      const Results results = train_as(world, step, its, layout.shuffle);
      if (world.is_first()) found = results;
    });
    of_actor.push_back(deviation("actor", layout, exact_actor, found.actor));
    if (config.uses_critic()) of_critic.push_back(deviation("critic", layout, exact.critic(mini_batch), found.critic));
  }
  std::ranges::move(of_critic, std::back_inserter(of_actor));
  return of_actor;
}

}  // namespace roll
