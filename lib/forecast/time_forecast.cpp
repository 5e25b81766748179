#include "forecast/time_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "forecast/busy_neighbours.h"
#include "forecast/length_trial.h"
#include "forecast/step_source.h"
#include "job/threads.h"
#include "machine/device_speed.h"
#include "model/device.h"
#include "model/workload.h"
#include "settings/batch_plan.h"
#include "settings/placement.h"
#include "settings/step_cost.h"
#include "settings/training_plan.h"
#include "step/step_settings.h"
#include "train/sft_data.h"

namespace roll {

namespace {

/// Memory accesses per byte between ranks of a host: written, read, added and written.
constexpr double kCopies = 4;
constexpr double kShownShare = 0.01;  // share of a step; shorter phases are not printed
constexpr double kLengths_s = 6;      // sampling time for the length trial

/// Returns a phase's name for users.
std::string phase_title(std::string_view phase) {
  if (phase == "generate") return "sampling";
  if (phase == "model_update") return "weights to the sampler";
  if (phase == "reference") return "reference log-probs";
  if (phase == "old_log_probs") return "old log-probs";
  if (phase == "values") return "values";
  for (const TrainableRole& trained : trainable_roles())
    if (phase == trained.phase) return fmt::format("training the {}", trained.metrics);
  return "moving tokens";
}

double average(const std::vector<int64_t>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(std::max<size_t>(1, all.size()));
}

/// Returns why this machine cannot forecast the run, or "".
template <class T>
std::string obstacle(const CheckedConfig<T>& checked, bool on_gpu) {
  if (!checked.models) return "the shapes of the run's models are unknown";
  if (!checked.hostfile.empty()) return "the run uses several hosts, and this machine is only one of these";
  if (on_gpu && num_cuda_devices() == 0)
    return "the run needs GPUs, but this machine has no GPU; --simulate takes the speeds of GPUs as arguments";
  const at::Device device = on_gpu ? at::kCUDA : at::kCPU;
  for (const TrainableRole& trained : trainable_roles())
    if (const auto spec = checked.models->find(trained.role);
        spec != checked.models->end() && !can_be_tried({spec->second, device}))
      return "two layers of a trained model need more than half of this machine's free memory";
  return "";
}

/// Limits threads to one rank's share and loads the other cores, as if all ranks of the run were on this host.
BusyNeighbours share_host(int64_t num_ranks, bool on_gpu) {
  if (on_gpu) return BusyNeighbours(0);
  const int ranks = static_cast<int>(num_ranks);
  const int threads = set_threads_per_rank({.size = ranks, .local_size = ranks});
  return BusyNeighbours(std::min<int64_t>((num_ranks - 1) * threads, num_usable_cores() - threads));
}

/// Gives each group one prompt length; the lengths are evenly spaced in the sorted list.
void set_prompts(std::vector<int64_t> lengths, ThinStep& step) {
  if (lengths.empty()) return;
  std::ranges::sort(lengths);
  const auto count = std::ssize(lengths);
  for (int64_t i = 0; i < step.num_sequences(); ++i)
    step.prompt_lengths[i] = lengths[(2 * (i / step.group_size) + 1) * count / (2 * step.num_groups())];
}

/// Returns a step whose responses have the policy's measured length, or the longest possible one.
ThinStep expected_step(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows,
                       std::string& assumed) {
  const Config& config = checked.config;
  const bool plays = config.agentic.is_used();
  std::string why;
  if (plays && rows) try {
      if (auto played = try_trajectories(checked)) {
        const double mean = average(played->response_lengths);
        assumed = fmt::format("with trajectories of {:.0f} tokens, as measured in a short trial", mean);
        return *played;
      }
    } catch (const UserError& error) {
      why = fmt::format("; the trial failed: {}", error.what());
    }
  double mean = static_cast<double>(config.response_length.value());
  assumed = fmt::format("if every {} has {:.0f} tokens{}", plays ? "trajectory" : "response", mean, why);
  if (rows)
    if (const auto lengths = try_lengths(config, rows->prompts, kLengths_s)) {
      mean = lengths->mean;
      assumed = fmt::format("with responses of {:.0f} tokens: in a short trial, {} of {} ended by themselves", mean,
                            lengths->num_ended, lengths->num_responses);
    }
  ThinStep step = assumed_step(config, {.mean = mean, .std = 0}, config.critic_warmup + 1);
  if (rows) set_prompts(rows->lengths, step);
  return step;
}

TrainingShape training_shape(const WorkerConfig& worker, double length, int64_t tokens, bool has_head) {
  return {.length = std::lround(length), .tokens = tokens, .recomputes = worker.recomputation(), .has_head = has_head};
}

/// Returns the seconds of an update on one rank. Muon computes in float32, and ranks share its matrices.
double update_seconds(const WorkerConfig& worker, const ModelSpec& spec, at::Device device,
                      const TrainingSpeed& speed) {
  constexpr double kPeak_s = 0.05;
  const double flops = muon_flops(worker, spec) / static_cast<double>(worker.ranks.size());
  return speed.update_s + (flops > 0 ? flops / best_matmul_peak(device, at::kFloat, kPeak_s) : 0);
}

/// Returns the FLOPs of a forward over all rows.
double forward_flops(const ModelSpec& spec, const ConfigData& rows) {
  const ForwardFlops forward(spec);
  double flops = forward(0, rows.learnt);
  for (const int64_t length : rows.lengths) flops += forward(length, 0);
  return flops;
}

/// Another model of the step whose log-probs are needed (reference or teacher).
struct Helper {
  const WorkerConfig* worker = nullptr;
  std::string name{};
};

/// Forecasts updates over rows of `sequences` sequences each.
template <class T>
TimeForecast forecast_updates(const CheckedConfig<T>& checked, const std::optional<ConfigData>& loaded,
                              int64_t sequences, const Helper& helper) {
  const WorkerConfig& worker = checked.config.trained;
  const bool on_gpu = worker.device_mapping.has_value();
  if (const std::string reason = obstacle(checked, on_gpu); !reason.empty()) return {.why_unknown = reason};
  if (!loaded || loaded->lengths.empty()) return {.why_unknown = "the run's rows were not read"};
  const ConfigData& rows = *loaded;
  const BusyNeighbours neighbours = share_host(checked.num_ranks, on_gpu);
  const int64_t num_rows = std::ssize(rows.lengths) / sequences;
  const double share = static_cast<double>(worker.mini_batch()) / static_cast<double>(num_rows) /
                       static_cast<double>(checked.num_ranks);  // share of all rows in one update on one rank
  const double length = average(rows.lengths);
  const at::Device device = on_gpu ? at::kCUDA : at::kCPU;
  const auto try_role = [&](const ModelSpec& spec, const WorkerConfig& role) {
    const BatchRule rule = batch_rule(role, Stage::kTrain);
    const int64_t tokens =
        rule.is_packed ? rule.packing.budget : std::lround(length * static_cast<double>(rule.num_sequences));
    return try_training({spec, device, model_dtype(role.model_args, device)},
                        training_shape(role, length, tokens, true));
  };
  TimeForecast forecast{.num_steps = count_updates(checked.config, num_rows, worker.mini_batch())};
  const ModelSpec& spec = policy_shape(*checked.models);
  const TrainingSpeed speed = try_role(spec, worker);
  const double passes = 3 + worker.recomputation().recomputed_share(spec.num_layers);
  forecast.phases = {{"training", share * passes * forward_flops(spec, rows) / speed.training_flops_per_s +
                                      update_seconds(worker, spec, device, speed)}};
  if (helper.worker) {
    const ModelSpec helper_spec = shape_of_role(*checked.models, kReferenceRole);
    const double flops_per_s =
        helper_spec == spec ? speed.forward_flops_per_s : try_role(helper_spec, *helper.worker).forward_flops_per_s;
    forecast.phases.emplace_back(helper.name, share * forward_flops(helper_spec, rows) / flops_per_s);
  }
  for (const auto& [name, seconds] : forecast.phases) forecast.step_s += seconds;
  return forecast;
}

}  // namespace

std::optional<MeasuredSpeeds> measure_speeds(const CheckedConfig<Config>& checked, const ThinStep& step) {
  const Config& config = checked.config;
  const bool on_gpu = config.actor_train.device_mapping.has_value();
  if (!obstacle(checked, on_gpu).empty()) return {};
  const BusyNeighbours neighbours = share_host(checked.num_ranks, on_gpu);
  const RoleShapes& models = *checked.models;
  const at::Device device = on_gpu ? at::kCUDA : at::kCPU;
  MeasuredSpeeds speeds;
  const TrainingPlan plan = plan_training(config);
  const auto tried_model = [&](const std::string& role, const WorkerConfig& worker) {
    return TriedModel{shape_of_role(models, role), device, model_dtype(worker.model_args, device)};
  };
  for (const PlannedUpdate& update : plan.updates) {
    const WorkerConfig& worker = *update.worker;
    const TriedModel model = tried_model(update.role, worker);
    const int64_t tokens = full_micro_batch(config, worker, make_workload(model.spec), /*trains=*/true).tokens;
    const TrainingSpeed speed =
        try_training(model, training_shape(worker, average(step.lengths()), tokens, update.has_lm_head));
    speeds.phases[update.phase] = {speed.training_flops_per_s, update_seconds(worker, model.spec, device, speed)};
    for (const PlannedPass& pass : plan.passes)  // the reference counts as fast as the policy
      if (pass.has_lm_head() == update.has_lm_head) speeds.phases[pass.phase()] = {speed.forward_flops_per_s};
  }
  if (config.rollout_replay) return speeds;
  const auto samplers = std::ssize(config.actor_infer.ranks) / mesh_shape(config.actor_infer).tp;
  const int64_t sequences = (step.num_sequences() + samplers - 1) / samplers;
  speeds.sampling =
      try_sampling(tried_model(kPolicyRole, config.actor_train),
                   {.slots = std::min(sequences, config.max_running_requests),
                    .context = std::lround(average(step.prompt_lengths) + average(step.response_lengths) / 2),
                    .weight_bits = config.actor_infer.model_args.weight_bits(),
                    .draws = sampling_settings(config.actor_infer.generating_args)});
  return speeds;
}

TimeForecast forecast_time(const CheckedConfig<Config>& checked, const std::optional<ConfigData>& rows) {
  const Config& config = checked.config;
  const bool on_gpu = config.actor_train.device_mapping.has_value();
  if (!config.trains()) return {.why_unknown = "nothing is trained"};
  if (const std::string why = obstacle(checked, on_gpu); !why.empty()) return {.why_unknown = why};
  TimeForecast forecast{.num_steps = config.max_steps.value_or(0)};
  if (rows && !rows->lengths.empty()) forecast.num_steps = count_steps(config, std::ssize(rows->lengths));
  SimulationRequest request{.scale = {.text = checked.text, .num_ranks = checked.num_ranks, .keeps_batch = true},
                            .on_gpu = on_gpu};
  request.lengths = expected_step(checked, rows, forecast.assumed);
  request.machine.measured = measure_speeds(checked, *request.lengths);
  const double bytes_per_s = request.machine.measured->sampling.peak.bytes_per_s;  // 0: nothing is sampled
  if (!on_gpu && bytes_per_s > 0) request.machine.gbps_intra = bytes_per_s / 1e9 / kCopies;
  const Simulation simulation = Simulator(request).at(checked.num_ranks);
  for (const PhaseSimulation& phase : simulation.phases)
    forecast.phases.emplace_back(phase_title(phase.name), phase.seconds);
  forecast.step_s = simulation.timeline.seconds;
  return forecast;
}

TimeForecast forecast_time(const CheckedConfig<SftConfig>& checked, const std::optional<ConfigData>& rows) {
  return forecast_updates(checked, rows, 1, {});
}
TimeForecast forecast_time(const CheckedConfig<DpoConfig>& checked, const std::optional<ConfigData>& rows) {
  return forecast_updates(checked, rows, 2, {&checked.config.reference, "reference log-probs"});
}
TimeForecast forecast_time(const CheckedConfig<DistillConfig>& checked, const std::optional<ConfigData>& rows) {
  return forecast_updates(checked, rows, 1, {&checked.config.teacher, "the teacher"});
}

std::string to_text(const TimeForecast& forecast) {
  if (!forecast.why_unknown.empty()) return "time: not forecast: " + forecast.why_unknown;
  auto phases = forecast.phases;
  std::ranges::stable_sort(phases, std::greater(), [](const auto& phase) { return phase.second; });
  std::string parts;
  for (const auto& [name, seconds] : phases)
    if (seconds >= kShownShare * forecast.step_s)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, duration_text(seconds));
  std::string text = fmt::format("time on this machine: about {} a step ({})", duration_text(forecast.step_s), parts);
  if (forecast.num_steps > 0)
    text += fmt::format(", {} for {} step{}", duration_text(forecast.step_s * static_cast<double>(forecast.num_steps)),
                        forecast.num_steps, forecast.num_steps == 1 ? "" : "s");
  return text + (forecast.assumed.empty() ? "" : ", ") + forecast.assumed;
}

}  // namespace roll
