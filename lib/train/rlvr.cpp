#include "train/rlvr.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "dist/agree.h"
#include "job/restart.h"
#include "model/device.h"
#include "train/advantage_stage.h"
#include "train/collect.h"
#include "train/comm_metrics.h"
#include "train/experience_dump.h"
#include "train/group_quota.h"
#include "train/offload.h"
#include "train/prompts.h"
#include "train/rollout_metrics.h"
#include "train/run.h"
#include "train/summary.h"
#include "train/throughput.h"

namespace roll {

namespace {

/// Loaded before any model, so that what is wrong with it is known early.
struct Data {
  RoleFolders folders;
  Tokenizer tokenizer;
  std::optional<PromptStream> prompts;   // none under rollout_replay
  std::map<std::string, int64_t> quota;  // groups of each domain in a step
  std::vector<Row> validation;
};

Data load_data(const Config& config, const RunStart& start, Log& log) {
  RoleFolders folders = role_folders(config);
  if (start.resume) folders.actor = start.resume->folder / "actor", folders.critic = start.resume->folder / "critic";
  Data data{folders, Tokenizer::load(folders.actor), {}, {}, {}};
  if (!config.rollout_replay) {
    data.prompts = open_training_prompts(config, folders.actor, data.tokenizer, log);
    data.quota = data.prompts->quota(config.rollout_batch_size);
  }
  data.validation = load_validation_prompts(config, folders.actor, data.tokenizer, log);
  return data;
}

RunPlan plan_rlvr(const Config& config, const RunFlags& flags, Communicator& ranks, Log& log) {
  std::map<std::string, int64_t> per_update{{"actor_train", config.actor_train.mini_batch(ranks.size())}};
  if (config.uses_critic()) per_update["critic"] = config.critic.mini_batch(ranks.size());
  return plan_run(config, flags, config.actor_train.backend_timeout * 60, per_update, ranks, log);
}

class Rlvr {
 public:
  Rlvr(const Config& config, Data data, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run();

 private:
  void take_up(const ResumePoint& point);
  Json state() const;
  RunState run_state(Json state);
  void run_step(int64_t step);
  std::vector<RolloutRecord> rollouts_of(int64_t step, Metrics& metrics);
  std::vector<RolloutRecord> replayed(int64_t step) const;
  std::vector<RolloutRecord> sampled(int64_t step, Metrics& metrics);
  std::vector<RolloutRecord> collect(const CollectRequest& request, CollectStatistics& statistics);
  void open_engine();
  void close_engine();
  bool samples_baseline() const { return config_.experience.adv_estimator->samples_baseline; }
  int64_t validation_samples() const { return config_.validation.generating_args.num_return_sequences.value_or(1); }
  Experience experience_of(std::vector<RolloutRecord> rollouts, int64_t step, Metrics& metrics);
  void update(const Experience& experience, int64_t step, Metrics& metrics);
  bool validates(int64_t step) const;
  Metrics validate(int64_t step);

  const Config& config_;
  at::Device device_;
  Communicator& ranks_;
  Log& log_;
  Tokenizer tokenizer_;
  std::map<std::string, int64_t> quota_;
  std::vector<Row> validation_rows_;
  Meshes meshes_;
  RoleMeshes mesh_of_;
  Roles roles_;
  ForwardNeeds needs_;

  // What a run that goes on takes up where it was, beside the weights.
  std::optional<PromptStream> prompts_;
  ExperienceState experience_state_;
  ActorTrainer actor_;                   // optimizer and schedule
  std::optional<CriticTrainer> critic_;  // the same
  History history_;
  int64_t tokens_seen_ = 0;  // prompts and responses that were trained on

  RewardModels reward_models_;
  Collector collector_;
  std::optional<Engine> engine_;  // of the policy's weights as they are
  Offload offload_;
  Throughput throughput_;
  std::optional<ResumePoint> resume_;
  Run run_;
};

Rlvr::Rlvr(const Config& config, Data data, RunPlan plan, at::Device device, Communicator& ranks, Log& log)
    : config_(config),
      device_(device),
      ranks_(ranks),
      log_(log),
      tokenizer_(std::move(data.tokenizer)),
      quota_(std::move(data.quota)),
      validation_rows_(std::move(data.validation)),
      meshes_(ranks),
      mesh_of_(role_meshes(config, meshes_)),
      roles_(load_roles(config, data.folders, mesh_of_, device)),
      needs_(forward_needs(config, ranks.size())),
      prompts_(std::move(data.prompts)),
      experience_state_(config.experience),
      actor_(config, roles_.actor, mesh_of_.actor, log),
      critic_(roles_.critic ? std::optional<CriticTrainer>(std::in_place, config, *roles_.critic, mesh_of_.critic, log)
                            : std::optional<CriticTrainer>()),
      reward_models_(config, meshes_, device, log),
      collector_(config.rewards, config.response_length.value(), reward_models_, mesh_of_.sampler, log),
      offload_(config, device, actor_, critic_, roles_),
      throughput_(device, roles_.actor.dtype(), ranks.size()),
      resume_(plan.start.resume),
      run_(std::move(plan), config.max_steps, rlvr_headline(), ranks, log) {
  if (resume_) agree(ranks, [&] { take_up(*resume_); });
}

/// What is not in the models' folders.
void Rlvr::take_up(const ResumePoint& point) {
  const std::filesystem::path file = point.folder / "state.json", optimizers = point.folder / "optimizer";
  const Json state = read_json(file);
  try {
    if (prompts_) prompts_->load_state(state.at("prompts"));
    experience_state_.load_state(state.at("experience"));
    actor_.learner().load(state.at("actor"), optimizers, "actor");
    if (critic_) critic_->learner().load(state.at("critic"), optimizers, "critic");
    tokens_seen_ = state.at("tokens_seen").get<int64_t>();
    history_ = history_from(state.at("history"));
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: is not the state of such a run: {}", file.string(), error.what());
  }
}

Json Rlvr::state() const {
  Json state{{"tokens_seen", tokens_seen_},
             {"experience", experience_state_.state()},
             {"actor", actor_.learner().state()},
             {"history", to_json(history_)}};
  if (prompts_) state["prompts"] = prompts_->state();
  if (critic_) state["critic"] = critic_->learner().state();
  return state;
}

RunState Rlvr::run_state(Json state) {
  close_engine();  // saving gathers what may be put away
  RunState run{std::move(state), {}};
  run.parts.push_back(
      checkpoint_part("actor", roles_.actor, mesh_of_.actor, [this] { return actor_.learner().optimizer_shard(); }));
  if (critic_)
    run.parts.push_back(checkpoint_part("critic", *roles_.critic, mesh_of_.critic,
                                        [this] { return critic_->learner().optimizer_shard(); }));
  return run;
}

void Rlvr::run() {
  log_.info("{}", describe_roles(roles_, device_));
  if (!resume_ && config_.eval_steps > 0 && !validation_rows_.empty()) run_.track(0, validate(0));
  if (const std::string note = restart_note(); !note.empty()) log_.info("{}", note);
  for (int64_t step = run_.first_step(); step <= config_.max_steps; ++step) {
    const Json before = state();
    try {
      run_step(step);
    } catch (const Stopped& stopped) {  // while it sampled: the step is as if it had not begun
      run_.stop(stopped, step - 1, [&] { return run_state(before); });
    }
    if (const auto kind = stop_agreed(ranks_)) run_.stop(Stopped(*kind), step, [&] { return run_state(state()); });
  }
  tell_history(history_, log_);
  log_.info("run folder: {}", std::filesystem::absolute(run_.folder().path()).lexically_normal().string());
}

/// prompts -> rollouts -> scores -> experience -> updates -> weights saved
void Rlvr::run_step(int64_t step) {
  ranks_.set_step(step);
  Stopwatch watch;
  Metrics metrics;
  std::vector<RolloutRecord> rollouts = rollouts_of(step, metrics);
  const Experience experience = experience_of(std::move(rollouts), step, metrics);
  update(experience, step, metrics);
  tokens_seen_ += experience.tokens.num_tokens();
  throughput_.add_step(experience, step, watch.seconds(), metrics);
  history_.scores.push_back(value_of(metrics, "critic/score/mean"));
  if (validates(step)) metrics.merge(validate(step));
  run_.track(step, metrics);
  run_.save_if_due(step, [this] { return run_state(state()); });
}

std::vector<RolloutRecord> Rlvr::rollouts_of(int64_t step, Metrics& metrics) {
  const auto rollouts = config_.rollout_replay ? replayed(step) : sampled(step, metrics);
  add_rollout_metrics(rollouts, metrics);
  if (!config_.rollout_replay && ranks_.is_first())
    write_rollouts(config_.rollout_dump_dir.value_or(run_.folder().rollouts().string()), "step_", step, rollouts);
  return rollouts;
}

std::vector<RolloutRecord> Rlvr::replayed(int64_t step) const {
  auto rollouts = read_replay(*config_.rollout_replay, step, config_.num_return_sequences_in_group, samples_baseline());
  check_vocabulary(rollouts, roles_.actor.spec().vocab_size, "rollout_replay = " + *config_.rollout_replay);
  // The updates of a step, and with them the learning rate and what needs old log-probs, were counted for this many.
  const int64_t num_groups = std::ssize(rollouts) / config_.samples_per_prompt();
  if (num_groups != config_.rollout_batch_size)
    throw user_error("rollout_replay = {}: step {} holds {} prompts: must be rollout_batch_size = {}; set that to {}",
                     *config_.rollout_replay, step, num_groups, config_.rollout_batch_size, num_groups);
  return rollouts;
}

std::vector<RolloutRecord> Rlvr::sampled(int64_t step, Metrics& metrics) {
  GroupQuota groups(quota_, *prompts_, config_.rewards, config_.additional_prompts());
  CollectStatistics statistics;
  auto records = collect({.quota = &groups,
                          .num_samples = config_.num_return_sequences_in_group,
                          .with_baseline = samples_baseline(),
                          .step = step,
                          .sampling = sampling_params(config_, tokenizer_, Purpose::kSample, step),
                          .phase = fmt::format("step {}: generate", step)},
                         statistics);
  statistics.add_to(metrics);
  for (const auto& [domain, counts] : groups.counts()) {
    const std::pair<const char*, int64_t> named[] = {
        {"groups_sampled", counts.sampled}, {"groups_dropped", counts.dropped}, {"groups_aborted", counts.aborted}};
    for (const auto& [name, count] : named) {
      metrics.add(fmt::format("rollout/{}@sum", name), static_cast<double>(count));
      metrics.add(fmt::format("{}/rollout/{}@mean", domain, name), static_cast<double>(count));
    }
  }
  return groups.take(std::move(records));
}

std::vector<RolloutRecord> Rlvr::collect(const CollectRequest& request, CollectStatistics& statistics) {
  Stopwatch watch;
  if (!engine_) open_engine();
  statistics.model_update_s += watch.seconds();
  ranks_.traffic().set_phase("generate");
  return collector_.collect(*engine_, tokenizer_, request, statistics);
}

void Rlvr::open_engine() {
  update_sampler(roles_, ranks_.traffic());
  offload_.put_away();
  const auto share_of = [groups = mesh_of_.sampler.dp_size()](int64_t rows, int64_t samples) {
    return (rows + groups - 1) / groups * samples;
  };
  EngineLimits limits = engine_limits(config_, std::max(share_of(config_.most_prompts(), config_.samples_per_prompt()),
                                                        share_of(std::ssize(validation_rows_), validation_samples())));
  limit_cache(limits, config_.actor_infer.strategy_args.strategy_config, roles_.sampling_policy(),
              mesh_of_.sampler.tp());
  engine_.emplace(roles_.sampling_policy(), tokenizer_, limits);
}

/// Before anything but sampling happens on the device.
void Rlvr::close_engine() {
  if (!engine_) return;
  engine_.reset();
  offload_.bring_back();
}

Experience Rlvr::experience_of(std::vector<RolloutRecord> rollouts, int64_t step, Metrics& metrics) {
  close_engine();
  Experience experience = experience_from(rollouts);
  std::erase_if(rollouts, [](const RolloutRecord& record) { return record.is_baseline; });
  run_forwards(experience, config_, roles_, needs_, mesh_of_, log_, metrics);
  add_sampler_gap(experience, rollouts, metrics);
  Stopwatch watch;
  metrics.merge(complete_experience(experience, config_.experience, config_.rollout_batch_size, experience_state_));
  metrics.add("time/advantages", watch.seconds());
  if (config_.dump_experience && ranks_.is_first())
    dump_experience(run_.folder().experience(), step, rollouts, experience);
  return experience;
}

void Rlvr::update(const Experience& experience, int64_t step, Metrics& metrics) {
  Stopwatch watch;
  const bool trains_actor = step > config_.critic_warmup;
  FirstUpdates updates;
  FirstUpdates* const looked_at = config_.dump_experience && step == 1 ? &updates : nullptr;
  if (critic_) metrics.merge(critic_->train(experience, config_.rollout_batch_size, step, looked_at));
  if (trains_actor) metrics.merge(actor_.train(experience, config_.rollout_batch_size, step, looked_at));
  if (looked_at && ranks_.is_first()) dump_updates(run_.folder().experience(), step, updates);
  throughput_.add_training(training_flops(experience, roles_, trains_actor, config_.ppo_epochs), watch.seconds(),
                           metrics);
  add_traffic_metrics(ranks_.traffic(), metrics);
}

bool Rlvr::validates(int64_t step) const {
  return config_.eval_steps > 0 && !validation_rows_.empty() && run_.is_due(step, config_.eval_steps);
}

Metrics Rlvr::validate(int64_t step) {
  Stopwatch watch;
  CollectRequest request{.num_samples = validation_samples(),
                         .step = step,
                         .sampling = sampling_params(config_, tokenizer_, Purpose::kValidate, step),
                         .phase = fmt::format("step {}: validate", step),
                         .may_stop = step == 0};  // else the step's weights are changed already: it is finished
  for (const Row& row : validation_rows_) request.rows.push_back(&row);
  CollectStatistics statistics;
  const auto records = collect(request, statistics);
  if (ranks_.is_first()) write_rollouts(run_.folder().rollouts(), "val_", step, records);
  Metrics metrics;
  add_validation_metrics(records, metrics);
  metrics.add("time/validate", watch.seconds());
  history_.validated.push_back(value_of(metrics, "val_correct/all/mean"));
  log_.info("validation after step {}: {:.4f} of {} responses are right, mean score {:.4f}", step,
            history_.validated.back(), records.size(), value_of(metrics, "val_score/all/mean"));
  return metrics;
}

}  // namespace

void run_rlvr(const Config& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  RunPlan plan = plan_rlvr(config, flags, ranks, log);
  std::optional<Rlvr> pipeline;
  agree(ranks, [&] {
    Data data = load_data(config, plan.start, log);
    pipeline.emplace(config, std::move(data), std::move(plan), device, ranks, log);
  });
  pipeline->run();
}

}  // namespace roll
