#include "preview/step_forecast.h"

#include <algorithm>

#include "model/model_parameters.h"
#include "preview/fact_traffic.h"
#include "preview/model_traffic.h"
#include "preview/step_routes.h"
#include "preview/update_traffic.h"
#include "preview/weight_traffic.h"
#include "settings/placement.h"
#include "train/advantage_stage.h"
#include "train/ppo.h"

namespace roll {

namespace {

int64_t element_bytes(const WorkerConfig& worker, Path path) {
  const at::Device device = path == Path::kDevice ? at::kCUDA : at::kCPU;
  return static_cast<int64_t>(c10::elementSize(model_dtype(worker.model_args, device)));
}

/// A role's work on all sequences, or on a mini-batch of them.
struct RoleWork {
  std::string phase;
  const WorkerConfig& worker;
  const RoleView& role;
  ModelPass pass;
};

StepCost operator*(const StepCost& cost, double times) {
  return {cost.bytes * times, cost.flops * times};
}

class Forecaster {
 public:
  Forecaster(const SimulatedWorld& world, const ThinStep& step);
  StepForecast run() &&;

 private:
  void add_sampling();
  void add_home();
  void add_forwards();
  std::vector<RoleWork> forwards() const;
  void add_plan(const RoleWork& work, const std::vector<Partition>& plans);
  void add_training(const RoleWork& work, const std::vector<ParameterShape>& parameters, int64_t epoch);
  void add_training(const RoleWork& work, const std::vector<ParameterShape>& parameters);
  void add_sample_weights();
  void add_between(const std::string& last_phase);
  double flops_of(const ModelPass& pass, const std::vector<int64_t>& sequences) const;
  SamplingWork sampling_work(const std::vector<int64_t>& sequences) const;

  const SimulatedWorld& world_;
  const ThinStep& step_;
  const Config& config_;
  std::vector<int64_t> lengths_;
  RoleView actor_, sampler_, reference_, critic_;
  Travellers everyone_;
  Distribution holders_, home_, at_;  // at_: of the role that is being trained
  StepForecast forecast_;
  StepRoutes routes_;
};

/// Of a role, or where it plays no part, of the actor.
RoleView view_of(const SimulatedWorld& world, WorkerConfig Config::*worker, bool is_used = true) {
  const auto used = is_used ? worker : &Config::actor_train;
  return {world, world.planned.*used, world.asked.*used, mesh_shape(world.planned.*used)};
}

RoleView sampler_view(const SimulatedWorld& world) {
  const MeshShape shape{.cp = 1, .tp = mesh_shape(world.planned.actor_infer).tp};
  return {world, world.planned.actor_infer, world.asked.actor_infer, shape};
}

Forecaster::Forecaster(const SimulatedWorld& world, const ThinStep& step)
    : world_(world),
      step_(step),
      config_(world.planned),
      lengths_(step.lengths()),
      actor_(view_of(world, &Config::actor_train)),
      sampler_(sampler_view(world)),
      reference_(view_of(world, &Config::reference, config_.uses_reference())),
      critic_(view_of(world, &Config::critic, config_.uses_critic())),
      everyone_(all_travellers(world)),
      holders_(sampled_by(sampler_, world.num_planned(), step)),
      forecast_{.traffic = TrafficForecast(world.num_planned()), .flops = {}, .sampling = {}},
      routes_(forecast_.traffic, world, lengths_) {
  forecast_.sampling.resize(world.num_planned());
}

double Forecaster::flops_of(const ModelPass& pass, const std::vector<int64_t>& sequences) const {
  double flops = 0;
  for (const int64_t s : sequences)
    flops += pass.spec.forward_flops(lengths_[s], pass.gives_values ? 0 : step_.response_lengths[s]);
  return flops * (pass.trains ? 3 + pass.recomputes : 1);
}

/// Prompts once each; then all sequences that run, token by token, until the longest or the last of a queue is through.
SamplingWork Forecaster::sampling_work(const std::vector<int64_t>& sequences) const {
  SamplingWork work;
  if (sequences.empty()) return work;
  const int64_t element = element_bytes(config_.actor_train, world_.path), tp = sampler_.shape().tp;
  const ModelSpec& spec = world_.models.policy;
  int64_t drawn = 0, longest = 0, longest_prompt = 0, read = 0;
  double prompt_flops = 0;
  for (const int64_t s : sequences) {
    const int64_t prompt = step_.prompt_lengths[s], response = step_.response_lengths[s];
    drawn += response, longest = std::max(longest, response);
    read += response * (prompt + response / 2);
    if (s % step_.group_size != 0) continue;
    longest_prompt = std::max(longest_prompt, prompt);
    prompt_flops += spec.forward_flops(prompt, 1);
  }
  work.prompts = {step_cost(spec, element, 1, 0, longest_prompt).bytes, prompt_flops};
  const int64_t slots = std::min(std::ssize(sequences), config_.max_running_requests);
  const int64_t steps = std::max<int64_t>({1, longest, (drawn + slots - 1) / slots});
  const int64_t running = std::max<int64_t>(1, drawn / steps), length = read / std::max<int64_t>(1, drawn);
  work.decoding = step_cost(spec, element, running, length, length + 1) * static_cast<double>(steps);
  const double share = 1 / static_cast<double>(tp);
  return {work.prompts * share, work.decoding * share};
}

void Forecaster::add_sampling() {
  add_weight_traffic(forecast_.traffic, world_, actor_, sampler_, element_bytes(config_.actor_train, world_.path));
  add_collection_traffic(forecast_.traffic, sampler_, config_, step_, holders_);
  const ModelPass pass{
      .spec = world_.models.policy, .element = element_bytes(config_.actor_train, world_.path), .path = world_.path};
  for (int64_t i = 0; i < std::ssize(sampler_.ranks()); ++i) {
    const int rank = sampler_.ranks()[i], leader = sampler_.ranks()[i - sampler_.place(i).tp];
    PhaseTraffic traffic(forecast_.traffic, rank, "generate");
    add_sampling_traffic(traffic, pass, sampler_.tp(i), step_, holders_.shares[leader]);
    forecast_.sampling[rank] = sampling_work(holders_.shares[leader]);
  }
}

/// The facts to all, and sequences to where the actor trains on them first.
void Forecaster::add_home() {
  add_fact_traffic(forecast_.traffic, world_, step_, holders_);
  const auto plans = epoch_plans(config_, config_.actor_train, world_.models.policy, lengths_, step_.number, 0);
  home_ = {world_groups(actor_.ranks(), actor_.shape()), shares_of(plans)};
  routes_.add_step("rollouts", everyone_, holders_, home_, /*ids, sampler's log-probs*/ 2);
}

std::vector<RoleWork> Forecaster::forwards() const {
  const ForwardNeeds needs = forward_needs(config_);
  const auto pass = [&](const ModelSpec& spec, const WorkerConfig& worker, bool gives_values) {
    return ModelPass{
        .spec = spec, .gives_values = gives_values, .element = element_bytes(worker, world_.path), .path = world_.path};
  };
  const ModelSpec& policy = world_.models.policy;
  std::vector<RoleWork> works;
  if (needs.ref_log_probs)
    works.push_back({"reference", config_.reference, reference_, pass(policy, config_.reference, false)});
  if (needs.old_log_probs)
    works.push_back({"old_log_probs", config_.actor_train, actor_, pass(policy, config_.actor_train, false)});
  if (needs.values)
    works.push_back({"values", config_.critic, critic_, pass(*world_.models.critic, config_.critic, true)});
  return works;
}

/// To the role, there through its model, and results back.
void Forecaster::add_forwards() {
  for (const RoleWork& work : forwards()) {
    const BatchRule rule = batch_rule(work.worker, Stage::kForward, work.pass.spec);
    const auto plans = plan_ranks(lengths_, rule, work.worker.data_ranks());
    const Distribution at{world_groups(work.role.ranks(), work.role.shape()), shares_of({plans})};
    routes_.add_columns("forwards", everyone_, home_, at, 1);
    add_plan(work, plans);
    routes_.add_columns("forwards", everyone_, at, home_, 1);
    if (work.role.is_everywhere()) continue;
    const int teller = work.role.ranks().front();  // of how long it took
    const int64_t root = everyone_.groups[teller].own.index;
    for (const int rank : everyone_.ranks)
      PhaseTraffic(forecast_.traffic, rank, "forwards")
          .broadcast(everyone_.groups[rank], Path::kHost, kNumberBytes, root);
  }
  add_statistics_traffic(forecast_.traffic, actor_, world_.asked, step_);
}

/// `plans`: of each data rank.
void Forecaster::add_plan(const RoleWork& work, const std::vector<Partition>& plans) {
  std::vector<double>& flops = forecast_.flops[work.phase];
  flops.resize(world_.num_planned());
  for (int64_t i = 0; i < std::ssize(work.role.ranks()); ++i) {
    const int rank = work.role.ranks()[i];
    PhaseTraffic traffic(forecast_.traffic, rank, work.phase);
    const ModelGroups groups{work.role.tp(i), work.role.cp(i)};
    for (const auto& micro_batch : plans[work.role.place(i).dp]) {
      add_model_traffic(traffic, work.pass, groups, step_, micro_batch);
      flops[rank] += flops_of(work.pass, micro_batch) / static_cast<double>(work.role.shape().model_ranks());
    }
  }
}

void Forecaster::add_training(const RoleWork& work, const std::vector<ParameterShape>& parameters, int64_t epoch) {
  const RoleView& role = work.role;
  const auto plans = epoch_plans(config_, work.worker, work.pass.spec, lengths_, step_.number, epoch);
  Distribution wanted{world_groups(role.ranks(), role.shape()), shares_of(plans)};
  routes_.add_step(work.phase, epoch == 0 ? everyone_ : travellers_of(role), epoch == 0 ? home_ : at_, wanted,
                   completed_columns(config_));
  at_ = std::move(wanted);
  const UpdateTraffic update(world_.asked, work.worker, parameters, role.num_shards(), work.pass.element,
                             work.pass.path);
  for (const auto& mini_batch : plans) {
    add_plan(work, mini_batch);
    for (int64_t i = 0; i < std::ssize(role.ranks()); ++i) {
      PhaseTraffic traffic(forecast_.traffic, role.ranks()[i], work.phase);
      update.add(traffic, {role.all(i), role.dp(i), role.tp(i), role.shards(i)}, world_.asked.rollout_batch_size);
    }
  }
}

void Forecaster::add_training(const RoleWork& work, const std::vector<ParameterShape>& parameters) {
  for (int64_t epoch = 0; epoch < config_.ppo_epochs; ++epoch) add_training(work, parameters, epoch);
}

/// Valid tokens of all sequences, where the actor's loss weighs these.
void Forecaster::add_sample_weights() {
  const LossConfig& loss = config_.loss;
  if (!loss.difficulty_loss_weight && !loss.length_loss_weight) return;
  for (int64_t i = 0; i < std::ssize(actor_.ranks()); ++i)
    PhaseTraffic(forecast_.traffic, actor_.ranks()[i], "train_actor")
        .all_reduce(actor_.dp(i), Path::kHost, world_.asked.sequences_per_step(), kNumberBytes);
}

/// What is said between two steps counts to the phase that was the last one: all ask each other whether to stop, and
/// tensor ranks that sample agree on the size of their cache.
void Forecaster::add_between(const std::string& last_phase) {
  for (const int rank : everyone_.ranks)
    PhaseTraffic(forecast_.traffic, rank, last_phase).all_reduce(everyone_.groups[rank], Path::kHost, 1, kNumberBytes);
  if (config_.rollout_replay) return;
  const std::string phase = shares_weights(config_) ? last_phase : "model_update";
  for (int64_t i = 0; i < std::ssize(sampler_.ranks()); ++i)
    PhaseTraffic(forecast_.traffic, sampler_.ranks()[i], phase)
        .all_reduce(sampler_.tp(i), Path::kHost, 1, kNumberBytes);
}

StepForecast Forecaster::run() && {
  if (!config_.rollout_replay) add_sampling();
  add_home();
  add_forwards();
  const auto training = [&](const char* phase, const WorkerConfig& worker, const RoleView& role, const ModelSpec& spec,
                            bool gives_values) {
    return RoleWork{phase, worker, role,
                    ModelPass{.spec = spec,
                              .gives_values = gives_values,
                              .trains = true,
                              .recomputes = worker.recomputes(),
                              .element = element_bytes(worker, world_.path),
                              .path = world_.path}};
  };
  const ModelSpec& policy = world_.models.policy;
  if (config_.uses_critic())
    add_training(training("train_critic", config_.critic, critic_, *world_.models.critic, true),
                 critic_parameters(*world_.models.critic));
  const bool trains_actor = step_.number > config_.critic_warmup;
  if (trains_actor) {
    add_sample_weights();
    add_training(training("train_actor", config_.actor_train, actor_, policy, false), policy_parameters(policy));
  }
  add_between(trains_actor ? "train_actor" : "train_critic");
  return std::move(forecast_);
}

}  // namespace

StepForecast forecast_step(const SimulatedWorld& world, const ThinStep& step) {
  return Forecaster(world, step).run();
}

}  // namespace roll
