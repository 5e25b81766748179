#include "forecast/simulation.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/ranges.h"
#include "forecast/peer_count.h"
#include "forecast/running_ranks.h"
#include "forecast/step_source.h"
#include "model/parameter_shards.h"
#include "pipeline/schedule.h"
#include "pipeline/split_rule.h"
#include "settings/batch_plan.h"
#include "settings/choose_recomputation.h"
#include "settings/judging_models.h"
#include "settings/placement.h"
#include "settings/step_cost.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

/// Above this number of ranks, some stand for all.
constexpr int64_t kMostPlanned = 64;
/// Tokens per rank.
constexpr int64_t kQuickTokens = 2'000'000, kTooManyTokens = 20'000'000;
constexpr size_t kQuickParameters = 5'000;

/// Returns the phases in the order of a step.
std::vector<std::string> step_phases(const Config& config) {
  std::vector<std::string> phases = {"model_update", "generate",      "rollouts", "forwards",
                                     "reference",    "old_log_probs", "values"};
  for (const PlannedUpdate& update : plan_training(config).updates) phases.emplace_back(update.phase);
  return phases;
}

/// Throws the UserError that loading the model would throw.
void check_tensor_ranks(const std::string& role, const WorkerConfig& worker, const ModelSpec& spec,
                        const std::string& arch) {
  const int64_t tp = worker.strategy_args.strategy_config.tensor_parallel();
  const std::string rule = tensor_parallel_rule(spec, tp);
  const auto split = try_stage_split(worker.strategy_args.strategy_config, spec.num_layers);
  if (const auto* fault = std::get_if<SplitFault>(&split))
    throw user_error("{}.strategy_args.strategy_config: {} pipeline stages: {}", role,
                     worker.strategy_args.strategy_config.pipeline_parallel(), fault->rule);
  const std::string arch_note = arch.empty() ? "" : fmt::format(" (--arch = {})", arch);
  if (!rule.empty())
    throw user_error("{}.strategy_args.strategy_config.tensor_model_parallel_size = {}: {}{}", role, tp, rule,
                     arch_note);
}

void check_known(const Config& config, const RoleSpecs& specs, const std::string& arch) {
  if (!specs.are_known())
    throw user_error("--simulate: cannot estimate: {}; give a model's shape, such as --arch Qwen2.5-7B",
                     specs.why_unknown);
  check_tensor_ranks("actor_infer", config.actor_infer, policy_shape(specs.shapes), arch);
  for (const auto& [role, worker] : learning_roles(config))
    check_tensor_ranks(role, *worker, specs.shapes.at(role), arch);
}

/// Copies recomputation from the requested world, because ranks of the planned world hold more.
void copy_recomputation(const Config& from, Config& to) {
  const auto copy = [](const WorkerConfig& source, WorkerConfig& target) {
    const StrategyConfig& chosen = source.strategy_args.strategy_config;
    target.strategy_args.strategy_config.recompute_method = chosen.recompute_method;
    target.strategy_args.strategy_config.recompute_num_layers = chosen.recompute_num_layers;
  };
  for (const TrainableRole& row : trainable_roles()) copy(from.*row.worker, to.*row.worker);
}

/// Returns notes about things that the simulation leaves out.
std::vector<std::string> make_notes(const Config& config, const ThinStep& step,
                                    const std::vector<PhaseSimulation>& phases) {
  std::vector<std::string> notes;
  if (config.rollout_replay) notes.emplace_back("rollouts are replayed, so sampling is not simulated");
  if (step.number <= config.critic_warmup)
    notes.push_back(fmt::format("step {} is within critic_warmup: the actor is not trained", step.number));
  if (!judging_models(config).empty())
    notes.emplace_back("computation and traffic of judging models are not simulated");
  for (const PhaseSimulation& phase : phases)
    if (phase.idle_share > 0)
      notes.push_back(
          fmt::format("{}: pipeline stages are idle for {:.0f} % of this phase", phase.name, 100 * phase.idle_share));
  return notes;
}

/// Optimizer updates in a phase.
struct PhaseUpdates {
  double count = 0;
  double rank_flops = 0;  // FLOPs of Muon in one update on one rank
};

PhaseUpdates updates_in(const SimulatedWorld& world, const std::string& phase) {
  const double scale = static_cast<double>(world.ranks.num_requested) / static_cast<double>(world.ranks.num_planned());
  for (const PlannedUpdate& update : plan_training(world.planned).updates)
    if (phase == update.phase)
      return {static_cast<double>(updates_per_step(world.planned, *update.worker)),
              muon_flops(*update.worker, shape_of_role(world.models, update.role)) /
                  (scale * static_cast<double>(update.worker->ranks.size()))};
  return {};
}

MachineSpeed rated_speed(const SimulatedMachine& machine) {
  return {machine.gbps_memory * 1e9, machine.tflops * 1e12 * machine.mfu};
}

/// Bytes and seconds of one rank in one phase.
struct Spent {
  int64_t sent_bytes = 0, received_bytes = 0;
  double compute_s = 0, memory_s = 0, traffic_s = 0;
  double seconds() const { return compute_s + memory_s + traffic_s; }
};

/// `stand_for[i]`: number of ranks that ranks[i] stands for.
template <class T, class Bytes>
RankBytes bytes_over(const std::vector<T>& ranks, const std::vector<double>& stand_for, const Bytes& get_bytes) {
  RankBytes bytes{.first = get_bytes(ranks.front())};
  double sum = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    sum += stand_for[i] * static_cast<double>(get_bytes(ranks[i]));
    bytes.most = std::max(bytes.most, get_bytes(ranks[i]));
  }
  bytes.mean = static_cast<int64_t>(sum / std::reduce(stand_for.begin(), stand_for.end()));
  return bytes;
}

double link_seconds(const Flow& flow, const SimulatedMachine& machine) {
  return flow.far_bytes / (machine.gbps_inter * 1e9) +
         (static_cast<double>(flow.bytes) - flow.far_bytes) / (machine.gbps_intra * 1e9);
}

void add_traffic(const std::vector<RankForecast>& ranks, const std::vector<double>& stand_for,
                 const SimulatedMachine& machine, PhaseSimulation& phase, std::vector<Spent>& spent) {
  std::map<std::string, std::vector<Moved>> moved;  // key within the phase -> traffic of each rank
  for (size_t i = 0; i < ranks.size(); ++i)
    for (const auto& [key, rank_moved] : ranks[i].traffic.moved) {
      if (!key.starts_with(phase.name + "/")) continue;
      auto& moved_by_rank = moved[key.substr(phase.name.size() + 1)];
      moved_by_rank.resize(ranks.size());
      moved_by_rank[i] = rank_moved;
      spent[i].sent_bytes += rank_moved.sent.bytes;
      spent[i].received_bytes += rank_moved.received.bytes;
      spent[i].traffic_s +=
          std::max(link_seconds(rank_moved.sent, machine), link_seconds(rank_moved.received, machine));
    }
  for (const auto& [key, ranks_moved] : moved) {
    for (const Moved& rank_moved : ranks_moved) phase.calls[key] = std::max(phase.calls[key], rank_moved.calls);
    phase.sent[key] = bytes_over(ranks_moved, stand_for, [](const Moved& rank_moved) { return rank_moved.sent.bytes; });
    phase.received[key] =
        bytes_over(ranks_moved, stand_for, [](const Moved& rank_moved) { return rank_moved.received.bytes; });
  }
}

void add_sampling(const SamplingWork& work, const SimulatedMachine& machine, Spent& spent) {
  if (machine.measured) {
    const SamplingSpeed& speed = machine.measured->sampling;
    spent.compute_s += work.prompts.flops / speed.prompt_flops_per_s;
    (is_bound_by_memory(work.decoding, speed.peak) ? spent.memory_s : spent.compute_s) +=
        least_seconds(work.decoding, speed.peak) / speed.decoding_share;
    return;
  }
  const MachineSpeed speed = rated_speed(machine);
  for (const DecodingCost& cost : {work.prompts, work.decoding})
    (is_bound_by_memory(cost, speed) ? spent.memory_s : spent.compute_s) += least_seconds(cost, speed);
}

/// `updates`: those in the phase. Measured speeds include Muon.
void add_work(const std::vector<RankForecast>& ranks, const SimulatedMachine& machine, const std::string& phase,
              const PhaseUpdates& updates, std::vector<Spent>& spent) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (const auto found = ranks[i].flops.find(phase); found != ranks[i].flops.end()) {
      const PhaseSpeed speed = machine.measured ? machine.measured->phases.at(phase)
                                                : PhaseSpeed{rated_speed(machine).flops_per_s,
                                                             updates.rank_flops / rated_speed(machine).flops_per_s};
      spent[i].compute_s += found->second / speed.flops_per_s + updates.count * speed.update_s;
    }
    if (phase == "generate") add_sampling(ranks[i].sampling, machine, spent[i]);
  }
}

/// Pipelines of the same shape on the same ranks, run `times` times in a row.
struct Pipelines {
  const WorkerConfig* role;
  double times;
};

/// Returns the pipelines of a phase. Teachers on the same ranks are assumed to have one shape.
std::vector<Pipelines> find_pipelines(const Config& config, const std::string& phase) {
  std::vector<Pipelines> pipelines;
  const auto add = [&](const WorkerConfig& role, int64_t times) {
    if (role.strategy_args.strategy_config.pipeline_parallel() == 1) return;
    auto found =
        std::ranges::find_if(pipelines, [&](const Pipelines& known) { return known.role->ranks == role.ranks; });
    if (found == pipelines.end()) found = pipelines.insert(found, {&role, 0});
    found->times += static_cast<double>(times);
  };
  const TrainingPlan plan = plan_training(config);
  for (const PlannedPass& pass : plan.passes)
    if (phase == pass.phase()) add(*pass.worker, 1);
  for (const PlannedUpdate& update : plan.updates)
    if (phase == update.phase) add(*update.worker, updates_per_step(config, *update.worker));
  return pipelines;
}

/// Adds idle time: all stages of a pipeline take as long as the whole.
void add_idling(const Pipelines& pipelines, const SimulatedWorld& world, const std::vector<RankForecast>& forecast,
                PhaseSimulation& phase) {
  const MeshShape shape = mesh_shape(*pipelines.role);
  std::vector<double> busy_s(shape.pp);
  std::vector<size_t> stage_ranks;
  double passes = 0;
  for (size_t i = 0; i < forecast.size(); ++i) {
    const auto index = rank_in_role(world.ranks.running[i], *pipelines.role);
    if (!index) continue;
    double& busy = busy_s[mesh_place(*index, shape).pp];
    busy = std::max(busy, phase.rank_seconds[i]);
    stage_ranks.push_back(i);
    if (const auto counted = forecast[i].passes.find(phase.name); counted != forecast[i].passes.end())
      passes = std::max(passes, counted->second);
  }
  const double seconds = pipeline_seconds(busy_s, passes / pipelines.times);
  if (seconds == 0) return;
  for (const size_t i : stage_ranks) phase.rank_seconds[i] = seconds;
  phase.seconds = std::max(phase.seconds, seconds);
  const double idle = 1 - std::reduce(busy_s.begin(), busy_s.end()) / (static_cast<double>(shape.pp) * seconds);
  phase.idle_share = std::max(phase.idle_share, idle);
}

std::vector<PhaseSimulation> simulate_phases(const std::vector<RankForecast>& forecast,
                                             const std::vector<double>& stand_for, const SimulatedWorld& world,
                                             const SimulatedMachine& machine) {
  std::vector<PhaseSimulation> phases;
  for (const std::string& name : step_phases(world.planned)) {
    PhaseSimulation phase{.name = name};
    std::vector<Spent> ranks(forecast.size());
    add_traffic(forecast, stand_for, machine, phase, ranks);
    add_work(forecast, machine, name, updates_in(world, name), ranks);
    phase.all_sent = bytes_over(ranks, stand_for, [](const Spent& spent) { return spent.sent_bytes; });
    phase.all_received = bytes_over(ranks, stand_for, [](const Spent& spent) { return spent.received_bytes; });
    for (const Spent& spent : ranks) {
      phase.compute_s = std::max(phase.compute_s, spent.compute_s);
      phase.memory_s = std::max(phase.memory_s, spent.memory_s);
      phase.traffic_s = std::max(phase.traffic_s, spent.traffic_s);
      phase.seconds = std::max(phase.seconds, spent.seconds());
      phase.rank_seconds.push_back(spent.seconds());
    }
    if (phase.seconds == 0) continue;
    for (const Pipelines& pipelines : find_pipelines(world.planned, name))
      add_idling(pipelines, world, forecast, phase);
    phases.push_back(std::move(phase));
  }
  return phases;
}

/// Returns the work per class of ranks. Classes of the requested and the planned world have the same order.
std::vector<ClassWork> list_classes(const SimulatedWorld& world, const std::vector<PhaseSimulation>& phases,
                                    bool on_gpu) {
  const std::vector<RankClass> requested = rank_classes(world.requested), planned = rank_classes(world.planned);
  std::vector<ClassWork> classes;
  for (size_t i = 0; i < requested.size(); ++i) {
    ClassWork& work = classes.emplace_back();
    work.ranks = ranges_text(requested[i].ranks);
    work.roles = fmt::format("{}", fmt::join(requested[i].roles, ", "));
    work.memory_bytes = estimate_memory(world.requested, world.models, on_gpu, requested[i].ranks.front()).total();
    for (const PhaseSimulation& phase : phases)
      for (size_t k = 0; k < phase.rank_seconds.size(); ++k)
        if (std::ranges::binary_search(planned[i].ranks, world.ranks.running[k]))
          work.seconds[phase.name] = std::max(work.seconds[phase.name], phase.rank_seconds[k]);
  }
  return classes;
}

/// Returns the traffic of the rank that sends the largest message.
const RankTraffic& largest_message_traffic(const std::vector<RankForecast>& ranks) {
  return std::ranges::max_element(ranks, {}, [](const auto& rank) { return rank.traffic.largest_message; })->traffic;
}

}  // namespace

const PhaseSimulation& Simulation::bottleneck() const {
  return *std::ranges::max_element(phases, {}, &PhaseSimulation::seconds);
}

Simulator::Simulator(SimulationRequest request) : request_(std::move(request)), scaled_(request_.scale) {}

ThinStep Simulator::make_thin_step(const Config& config) const {
  if (request_.lengths) return *request_.lengths;
  std::optional<std::filesystem::path> recorded = request_.rollouts;
  if (!recorded && config.rollout_replay) recorded = *config.rollout_replay;
  if (recorded)
    return recorded_step(*recorded, config, request_.step.value_or(recorded_steps(*recorded).steps.front()));
  const double mean = request_.mean.value_or(static_cast<double>(config.response_length.value()) / 4);
  return assumed_step(config, {.mean = mean, .std = request_.std.value_or(mean)},
                      request_.step.value_or(config.critic_warmup + 1));
}

bool Simulator::is_quick(int64_t num_ranks) const {
  const Config config = scaled_.at(scaled_.stand_in(num_ranks, kMostPlanned)).config;
  const RoleSpecs specs = role_specs(config, request_.arch);
  const bool has_many_experts =
      specs.are_known() && shared_policy_parameters(policy_shape(specs.shapes))->size() > kQuickParameters;
  return !has_many_experts && tokens_per_rank(config, make_thin_step(config)) <= kQuickTokens;
}

Simulation Simulator::at(int64_t num_ranks) const {
  const int64_t num_planned = scaled_.stand_in(num_ranks, kMostPlanned);
  CheckedConfig<Config> requested = scaled_.at(num_ranks);
  Config planned = num_planned == num_ranks ? requested.config : scaled_.at(num_planned).config;
  const RoleSpecs specs = role_specs(requested.config, request_.arch);
  check_known(requested.config, specs, request_.arch);
  const bool on_gpu = request_.on_gpu.value_or(requested.config.actor_train.device_mapping.has_value());
  std::vector<std::string> notes = specs.notes;
  std::ranges::move(choose_recomputation(requested.config, specs.shapes, on_gpu, request_.machine.gb_memory * 1e9),
                    std::back_inserter(notes));
  copy_recomputation(requested.config, planned);
  SimulatedWorld world{.planned = std::move(planned),
                       .requested = std::move(requested.config),
                       .models = specs.shapes,
                       .ranks = {.requested_rank = {},
                                 .num_requested = num_ranks,
                                 .path = on_gpu ? Path::kDevice : Path::kHost,
                                 .ranks_per_host = request_.machine.ranks_per_host,
                                 .running = {}}};
  // A custom loss cannot be planned without running its code, so the built-in loss stands for it.
  for (const TrainableRole& row : trainable_roles()) {
    WorkerConfig& worker = world.planned.*row.worker;
    worker.loss_func = worker.pg_loss_reducer = {};
  }
  for (int rank = 0; rank < num_planned; ++rank)
    world.ranks.requested_rank.push_back(scaled_.scaled_rank(rank, num_planned, num_ranks));
  const ThinStep step = make_thin_step(world.planned);
  if (const int64_t tokens = tokens_per_rank(world.planned, step); tokens > kTooManyTokens)
    throw user_error(
        "--simulate = {}: a rank would process {} tokens in a step: must be at most {}; lower --mean or "
        "rollout_batch_size, or give more ranks with --keep-batch",
        num_ranks, tokens, kTooManyTokens);
  std::vector<double> stand_for;
  for (const auto& [rank, count] : running_ranks(world.planned, num_planned, step))
    world.ranks.running.push_back(rank), stand_for.push_back(count);
  const std::vector<RankForecast> forecast = forecast_step(world, step);

  Simulation result{.num_ranks = num_ranks,
                    .num_planned = num_planned,
                    .num_running = std::ssize(world.ranks.running),
                    .step = step.number,
                    .num_prompts = world.requested.prompts_per_step(),
                    .num_sequences = world.requested.sequences_per_step(),
                    .most_sockets = most_sockets(world.requested, num_ranks),
                    .phases = simulate_phases(forecast, stand_for, world, request_.machine),
                    .largest_message = largest_message_traffic(forecast).largest_message,
                    .largest_key = largest_message_traffic(forecast).largest_key,
                    .notes = std::move(notes)};
  result.timeline =
      build_timeline(list_classes(world, result.phases, on_gpu), std::min(1.0, world.requested.async_generation_ratio));
  std::ranges::move(make_notes(world.requested, step, result.phases), std::back_inserter(result.notes));
  for (const int64_t length : step.lengths()) result.mean_length += static_cast<double>(length);
  result.mean_length /= static_cast<double>(step.num_sequences());
  for (const RankClass& rank_class : rank_classes(world.requested))
    result.memory.emplace_back(ranges_text(rank_class.ranks),
                               estimate_memory(world.requested, world.models, on_gpu, rank_class.ranks.front()));
  return result;
}

}  // namespace roll
