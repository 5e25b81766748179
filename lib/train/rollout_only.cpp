#include "train/rollout_only.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "collect/cut_responses.h"
#include "collect/rollout_manager.h"
#include "collect/rollout_metrics.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "experience/describe.h"
#include "job/restart.h"
#include "model/device.h"
#include "process/stop.h"
#include "records/rollout_files.h"
#include "run/memory_watch.h"
#include "run/throughput.h"
#include "step/step_index.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"
#include "track/curve.h"
#include "train/run_rows.h"
#include "train/summary.h"
#include "train/validation_sets.h"

namespace roll {

namespace {

/// Nothing is validated.
SamplingPlan plan_of(const Config& config) {
  SamplingPlan plan = sampling_plan(config);
  plan.sets.clear();
  return plan;
}

class RolloutOnly {
 public:
  RolloutOnly(const Config& config, RunRows data, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run();

 private:
  void take_up(const ResumePoint& point);
  RunState state() const;
  void run_step(int64_t number);
  std::vector<RolloutRecord> rollouts_of(int64_t step, Metrics& metrics);

  const Config& config_;
  Communicator& ranks_;
  Log& log_;
  const RolePlaces places_;
  Tokenizer tokenizer_;
  const SamplingPlan sampling_;
  Meshes meshes_;
  RoleMeshes mesh_of_;
  Roles roles_;
  History history_;
  RewardModels reward_models_;
  std::unique_ptr<RolloutWorker> worker_;  // where the sampler lives
  PolicyEngine engine_;
  RolloutManager rollout_manager_;
  Throughput throughput_;
  MemoryWatch memory_;
  CutResponses cut_responses_;
  const std::optional<ResumePoint> resume_;
  Run run_;
};

RolloutOnly::RolloutOnly(const Config& config, RunRows data, RunPlan plan, at::Device device, Communicator& ranks,
                         Log& log)
    : config_(config),
      ranks_(ranks),
      log_(log),
      places_(step_settings(config).places),
      tokenizer_(std::move(data.tokenizer)),
      sampling_(plan_of(config)),
      meshes_(ranks),
      mesh_of_(role_meshes(places_, meshes_)),
      roles_(make_roles(models_in(data.sources), places_, mesh_of_, device)),
      reward_models_(judging_models(config), static_cast<uint64_t>(config.seed), meshes_, device, roles_, log),
      worker_(
          rollout_worker_of(config, data.sources.policy_folder(), tokenizer_, reward_models_, mesh_of_.sampler, log)),
      engine_(sampling_, /*validations=*/{}, tokenizer_, roles_, mesh_of_, /*offload=*/nullptr, ranks.traffic()),
      rollout_manager_(sampling_, std::move(data.of_sampling), engine_, worker_.get(), reward_models_, ranks),
      throughput_(device, model_dtype(config.actor_train.model_args, device), ranks.size(), /*num_training=*/0),
      cut_responses_(sampling_),
      resume_(plan.start.resume),
      run_(std::move(plan), config.num_steps(), rollout_only_face(config, describe_policy(roles_, config, device)),
           ranks, log) {
  if (mesh_of_.sampler.ranks().front() == ranks.rank()) log.show_progress();
  log.info("{}", describe_policy(roles_, config, device));
  if (resume_) agree(ranks, [&] { take_up(*resume_); });
}

void RolloutOnly::take_up(const ResumePoint& point) {
  const std::filesystem::path file = point.folder / "state.json";
  const Json state = read_json(file);
  try {
    rollout_manager_.load_prompts_state(state.at("prompts"));
    history_ = history_from(state.at("history"));
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: is not the state of such a run: {}", file.string(), error.what());
  }
}

RunState RolloutOnly::state() const {
  return {{{"prompts", rollout_manager_.prompts_state()}, {"history", to_json(history_)}}, /*parts=*/{}};
}

void RolloutOnly::run() {
  if (const std::string note = restart_note(); !note.empty()) log_.info("{}", note);
  for (int64_t step = run_.first_step(); step <= run_.last_step(); ++step) {
    const RunState before = state();
    try {
      run_step(step);
    } catch (const Stopped& stopped) {  // the step is as if it had not begun
      run_.stop(stopped, step - 1, [&] { return before; });
    }
    if (const auto kind = stop_agreed(ranks_)) run_.stop(Stopped(*kind), step, [&] { return state(); });
  }
  rollout_manager_.close();
  run_.finish();
  if (history_.scores.size() > 1) log_.say("score by step:\n{}", plot_curve(history_.scores, 60, 8));
  log_.say("run folder: {}", std::filesystem::absolute(run_.folder().path()).lexically_normal().string());
}

/// prompts -> rollouts -> scores
void RolloutOnly::run_step(int64_t number) {
  ranks_.set_step(number);
  std::optional<OperatorTrace> timeline = run_.timeline_of(number);
  const Stopwatch watch;
  memory_.begin("sampling");
  Metrics metrics;
  std::vector<RolloutRecord> rollouts = rollouts_of(number, metrics);
  if (!rollouts.empty()) run_.show(sample_of(rollouts[static_cast<size_t>(31 * number) % rollouts.size()], false));
  const StepFacts facts = index_of(rollouts, ranks_).facts;
  metrics.merge(score_metrics(facts, config_.prompts_per_step()));
  add_traffic_metrics(ranks_.traffic(), metrics);
  throughput_.add_step(facts, number, watch.seconds(), metrics);
  if (timeline) timeline->save();
  history_.scores.push_back(value_of(metrics, "score/mean"));
  metrics.merge(merge_over_ranks(memory_.take(), ranks_));
  run_.track(number, metrics);
  run_.save_if_due(number, [this] { return state(); });
}

/// What this rank sampled, which is kept.
std::vector<RolloutRecord> RolloutOnly::rollouts_of(int64_t step, Metrics& metrics) {
  std::vector<RolloutRecord> mine = rollout_manager_.step(step, metrics);
  metrics.merge(merge_over_ranks(rollout_metrics(mine), ranks_));
  if (ranks_.is_first()) cut_responses_.warn(metrics, step, log_);
  if (const auto share = sampler_share(mesh_of_.sampler))
    write_rollouts(config_.rollout_dump_dir.value_or(run_.folder().rollouts().string()), "step_", step, mine, *share);
  return mine;
}

}  // namespace

void run_rollout_only(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  RunPlan plan = plan_run(config, flags, config.actor_train.backend_timeout * 60, {}, ranks, log);
  Config sized = config;
  std::optional<RolloutOnly> pipeline;
  agree(ranks, [&] {
    RunRows data = load_run_rows(config, role_sources(config, device), log);
    sized = with_max_steps(config, data);
    pipeline.emplace(sized, std::move(data), std::move(plan), device, ranks, log);
  });
  pipeline->run();
}

}  // namespace roll
