#include "train/rlvr.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "collect/cut_responses.h"
#include "collect/rollout_manager.h"
#include "collect/rollout_metrics.h"
#include "data/leaks.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "experience/describe.h"
#include "job/restart.h"
#include "model/device.h"
#include "model/mixture.h"
#include "process/stop.h"
#include "records/rollout_files.h"
#include "run/memory_watch.h"
#include "run/run.h"
#include "run/throughput.h"
#include "settings/placement.h"
#include "settings/training_plan.h"
#include "step/experience_dump.h"
#include "step/offload.h"
#include "step/step_index.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"
#include "step/step_trainer.h"
#include "step/token_samples.h"
#include "train/prompts.h"
#include "train/run_inputs.h"
#include "train/summary.h"
#include "train/trained_roles.h"
#include "train/validation_sets.h"

namespace roll {

namespace {

bool offloads(const Config& config, at::Device device) {
  return config.offload && device.is_cuda();
}

RunInputs load_rows(const Config& config, const RunStart& start, at::Device device, Log& log) {
  RoleSources sources = role_sources(config, device);
  if (start.resume)
    for (const PlannedUpdate& update : plan_training(config).updates)
      sources.roles.at(update.role).folder = start.resume->folder / update.metrics;
  RunInputs data = load_run_inputs(config, std::move(sources), log);
  RolloutManager::Data& rows = data.sampling_data;
  if (config.trains()) rows.validations = load_validations(config, data.sources.policy_folder(), data.tokenizer, log);
  if (rows.prompts && log.is_first())
    for (const auto& [name, validation] : rows.validations)
      if (const std::string warning = overlap_warning(rows.prompts->rows().prompts(), validation.prompts());
          !warning.empty())
        log.warn("{}", warning);
  return data;
}

RunPlan plan_rlvr(const Config& config, const RunFlags& flags, Communicator& ranks, Log& log) {
  std::map<std::string, int64_t> rows_per_update;
  for (const PlannedUpdate& update : plan_training(config).updates)
    rows_per_update[update.role] = update.worker->mini_batch();
  return plan_run(config, flags, config.actor_train.backend_timeout * 60, rows_per_update, ranks, log);
}

/// Without training there are no validations.
SamplingPlan make_sampling_plan(const Config& config) {
  SamplingPlan plan = sampling_plan(config);
  if (!config.trains()) plan.sets.clear();
  return plan;
}

class Rlvr {
 public:
  Rlvr(const Config& config, RunInputs data, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run();

 private:
  Json state();
  RunState run_state(Json state);
  void run_step(int64_t number);
  std::vector<RolloutRecord> make_rollouts(int64_t step, Metrics& metrics);
  std::vector<RolloutRecord> read_replayed_rollouts(int64_t step);
  bool samples_baseline() const { return config_.experience.adv_estimator->samples_baseline; }
  Metrics train(RlStep& step, std::vector<RolloutRecord> rollouts);
  Metrics learn(RlStep& step, const std::vector<RolloutRecord>& rollouts);
  bool validates(int64_t step) const;
  Metrics validate(int64_t step);
  std::vector<ShownSample> broadcast_samples(const std::vector<RolloutRecord>& validated);

  const Config& config_;
  at::Device device_;
  Communicator& ranks_;
  Log& log_;
  Tokenizer tokenizer_;
  Meshes meshes_;
  const StepSettings settings_;
  RoleMeshes role_meshes_;
  Roles roles_;

  // State to resume, besides the weights.
  StepTrainer trainer_;
  History history_;
  int64_t tokens_seen_ = 0;  // prompts and responses trained on

  const SamplingPlan sampling_;
  RewardModels reward_models_;
  Offload offload_;
  std::unique_ptr<RolloutWorker> worker_;  // on the sampler's ranks
  PolicyEngine engine_;
  RolloutManager rollout_manager_;
  Throughput throughput_;
  MemoryWatch memory_;
  CutResponses cut_responses_;
  std::optional<ResumePoint> resume_;
  Run run_;
};

Rlvr::Rlvr(const Config& config, RunInputs data, RunPlan plan, at::Device device, Communicator& ranks, Log& log)
    : config_(config),
      device_(device),
      ranks_(ranks),
      log_(log),
      tokenizer_(std::move(data.tokenizer)),
      meshes_(ranks),
      settings_(step_settings(config)),
      role_meshes_(role_meshes(settings_.places, meshes_)),
      roles_(make_roles(models_in(data.sources), settings_.places, role_meshes_, device, offloads(config, device))),
      trainer_(settings_, step_models(roles_, role_meshes_, device, settings_.models), role_losses(settings_),
               role_meshes_, log),
      sampling_(make_sampling_plan(config)),
      reward_models_(judging_models(config), static_cast<uint64_t>(config.seed), meshes_, device, roles_, log),
      offload_(offloads(config, device), trainer_),
      worker_(make_rollout_worker(config, data.sources.policy_folder(), tokenizer_, reward_models_,
                                  role_meshes_.sampler, log)),
      engine_(sampling_, due_validations(sampling_, data.sampling_data.validations), tokenizer_, roles_, role_meshes_,
              &offload_, ranks.traffic()),
      rollout_manager_(sampling_, std::move(data.sampling_data), engine_, worker_.get(), reward_models_, ranks),
      throughput_(device, model_dtype(config.actor_train.model_args, device), ranks.size(),
                  std::ssize(training_ranks(config))),
      cut_responses_(sampling_),
      resume_(plan.start.resume),
      run_(std::move(plan), config.num_steps(), describe_run(config, describe_roles(roles_, config, device)), ranks,
           log) {
  ByRole<RoleMesh*> meshes = role_meshes_.roles;
  meshes.emplace("actor_infer", &role_meshes_.sampler);
  for (const auto& [role, mesh] : meshes)
    if (mesh->ranks().front() == ranks.rank()) log.show_progress();
  const auto restore_rest = [&](const Json& state) {
    rollout_manager_.load_prompts_state(state.value("prompts", Json()));
    tokens_seen_ = state.at("tokens_seen").get<int64_t>();
    history_ = history_from(state.at("history"));
  };
  if (resume_) agree(ranks, [&] { restore_checkpoint(*resume_, settings_, trainer_, restore_rest, log_); });
}

/// Returns the state for a checkpoint. **Collective**.
Json Rlvr::state() {
  Json state = trainer_.state();
  state["tokens_seen"] = tokens_seen_;
  state["history"] = to_json(history_);
  if (!rollout_manager_.prompts_state().is_null()) state["prompts"] = rollout_manager_.prompts_state();
  return state;
}

RunState Rlvr::run_state(Json state) {
  rollout_manager_.close();  // saving gathers weights that may be offloaded
  return {std::move(state), trained_parts(settings_, roles_, role_meshes_, trainer_)};
}

void Rlvr::run() {
  log_.info("{}", describe_roles(roles_, config_, device_));
  if (!resume_ && config_.eval_steps > 0 && !sampling_.sets.empty()) run_.track(0, validate(0));
  if (const std::string note = restart_note(); !note.empty()) log_.info("{}", note);
  for (int64_t step = run_.first_step(); step <= run_.last_step(); ++step) {
    const Json before = state();
    try {
      run_step(step);
    } catch (const Stopped& stopped) {  // stopped while sampling: discard the step
      run_.stop(stopped, step - 1, [&] { return run_state(before); });
    }
    if (const auto kind = stop_agreed(ranks_)) run_.stop(Stopped(*kind), step, [&] { return run_state(state()); });
  }
  rollout_manager_.close();
  run_.finish();
  log_history(history_, log_);
  log_.say("run folder: {}", std::filesystem::absolute(run_.folder().path()).lexically_normal().string());
}

/// Runs one step: prompts -> rollouts -> scores -> experience -> updates -> save. Without training, ends at the scores.
void Rlvr::run_step(int64_t number) {
  ranks_.set_step(number);
  std::optional<OperatorTrace> timeline = run_.step_timeline(number);
  Stopwatch watch;
  memory_.begin("sampling");
  Metrics metrics;
  std::vector<RolloutRecord> rollouts = make_rollouts(number, metrics);
  if (!rollouts.empty())
    run_.show(make_shown_sample(rollouts[static_cast<size_t>(31 * number) % rollouts.size()], false));
  RlStep step{.number = number};
  if (settings_.updates.empty()) {
    step.facts = make_step_index(rollouts, ranks_).facts;
    metrics.merge(score_metrics(step.facts, settings_.num_groups));
  } else {
    metrics.merge(train(step, std::move(rollouts)));
  }
  add_traffic_metrics(ranks_.traffic(), metrics);
  tokens_seen_ += step.facts.num_tokens();
  throughput_.add_step(step.facts, number, watch.seconds(), metrics);
  if (timeline) timeline->save();
  history_.scores.push_back(metric_value(metrics, "score/mean"));
  if (validates(number)) metrics.merge(validate(number));
  metrics.merge(merge_over_ranks(memory_.take(), ranks_));
  run_.track(number, metrics);
  memory_.begin("save");
  run_.save_if_due(number, [this] { return run_state(state()); });
}

/// Returns the rollouts that this rank sampled or read.
std::vector<RolloutRecord> Rlvr::make_rollouts(int64_t step, Metrics& metrics) {
  std::vector<RolloutRecord> local =
      config_.rollout_replay ? read_replayed_rollouts(step) : rollout_manager_.step(step, metrics);
  Metrics sampling_metrics = rollout_metrics(local);
  if (config_.samples_ahead()) sampling_metrics.merge(staleness_metrics(local));
  metrics.merge(merge_over_ranks(sampling_metrics, ranks_));
  if (ranks_.is_first()) cut_responses_.warn(metrics, step, log_);
  if (const auto share = sampler_share(role_meshes_.sampler); share && !config_.rollout_replay)
    write_rollouts(config_.rollout_dump_dir.value_or(run_.folder().rollouts().string()), "step_", step, local, *share);
  return local;
}

std::vector<RolloutRecord> Rlvr::read_replayed_rollouts(int64_t step) {
  rollout_manager_.close();  // validation left the sampler open
  std::vector<RolloutRecord> local;
  agree(ranks_, [&] {
    const auto share = sampler_share(role_meshes_.sampler);
    if (!share) return;
    local =
        read_replay(*config_.rollout_replay, step, config_.num_return_sequences_in_group, samples_baseline(), *share);
    const ModelSpec& policy = roles_.policy_spec();
    const std::string origin = "rollout_replay = " + *config_.rollout_replay;
    check_vocabulary(local, policy.vocab_size, origin);
    if (config_.routing_replay.value())
      check_routed_experts(local, choices_per_token(policy), policy.mixture->routing.count, origin);
  });
  return local;
}

/// Updates all roles with a step. `rollouts`: those on this rank. **Collective**.
Metrics Rlvr::train(RlStep& step, std::vector<RolloutRecord> rollouts) {
  trainer_.distribute(step, rollouts);
  // Only here does one rank hold a whole step; while learners train, samplers may be elsewhere.
  if (config_.dump_experience) rollouts = exchange_rollouts(std::move(rollouts), ranks_);
  const Metrics learner_metrics = role_meshes_.roles_among_learners ? learn(step, rollouts) : Metrics();
  rollout_manager_.run_ahead(step.number);
  return trainer_.broadcast(learner_metrics);
}

/// Trains on the learners, and writes dumps and samples for users.
Metrics Rlvr::learn(RlStep& step, const std::vector<RolloutRecord>& rollouts) {
  RoleMesh& actor = role_meshes_.roles_among_learners->at(kPolicyRole);
  memory_.begin("forwards");
  Metrics metrics = trainer_.run_passes(step);
  memory_.begin("advantages");
  metrics.merge(trainer_.add_advantages(step));
  if (config_.dump_experience) dump_experience(run_.folder().experience(), step, rollouts, actor.world());
  TokenSamples samples(step, config_.dump_samples, actor);
  memory_.begin("train");
  const Stopwatch watch;
  ByRole<FirstUpdates> first_updates;
  const bool keeps_first_updates = config_.dump_experience && step.number == 1;
  metrics.merge(trainer_.update(
      step, {.first = keeps_first_updates ? &first_updates : nullptr,
             .on_log_probs = [&](const Experience& e, const at::Tensor& log_probs) { samples.take(e, log_probs); }}));
  if (keeps_first_updates && actor.world().is_first())
    dump_updates(run_.folder().experience(), step.number, first_updates);
  throughput_.add_training(training_flops(step.facts, roles_, settings_, step.number), watch.seconds(), metrics);
  samples.write(run_.folder().samples(), tokenizer_);
  return metrics;
}

/// Returns samples of the sampler's first rank on all ranks. **Collective**.
std::vector<ShownSample> Rlvr::broadcast_samples(const std::vector<RolloutRecord>& validated) {
  return broadcast_message(ShownSamples{informative_samples(validated)}, role_meshes_.sampler).samples;
}

bool Rlvr::validates(int64_t step) const {
  return config_.eval_steps > 0 && !sampling_.sets.empty() && run_.is_due(step, config_.eval_steps);
}

Metrics Rlvr::validate(int64_t step) {
  Stopwatch watch;
  memory_.begin("validate");
  const std::string title = fmt::format("validation after step {}", step);
  Metrics metrics;
  std::map<std::string, MeasuredSet> measured;
  for (const SetPlan& set : sampling_.sets) {
    const auto records = rollout_manager_.validation(step, set);
    if (const auto share = sampler_share(role_meshes_.sampler))
      write_rollouts(run_.folder().rollouts(), validation_prefix(set.name), step, records, *share);
    if (!set.name.empty()) {
      measured[set.name] = measure_over_ranks(judged_samples(records), set.num_samples, ranks_);
      continue;
    }
    metrics.merge(log_validation(title, records, broadcast_samples(records), run_, ranks_, log_));
    history_.validated.push_back(metric_value(metrics, "val_correct/all/mean"));
  }
  metrics.merge(log_sets(title, measured, log_));
  metrics.add("time/validate", watch.seconds());
  return metrics;
}

}  // namespace

void run_rlvr(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  RunPlan plan = plan_rlvr(config, flags, ranks, log);
  Config sized = config;
  std::optional<Rlvr> pipeline;
  agree(ranks, [&] {
    RunInputs data = load_rows(config, plan.start, device, log);
    sized = with_max_steps(config, data);
    pipeline.emplace(sized, std::move(data), std::move(plan), device, ranks, log);
  });
  pipeline->run();
}

}  // namespace roll
