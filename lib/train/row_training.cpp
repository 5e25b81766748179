#include "train/row_training.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "job/restart.h"
#include "model/device.h"
#include "process/stop.h"
#include "records/rollout_record.h"
#include "run/memory_watch.h"
#include "settings/placement.h"
#include "step/step_metrics.h"
#include "train/epoch_order.h"
#include "train/sft_data.h"
#include "train/trained_roles.h"

namespace roll {

namespace {

std::string fingerprint_text(const RowSteps& rows) {
  return fmt::format("{:016x}", rows.fingerprint);
}

/// Writes the id and origin of each row of an update; returns the file's path.
std::string write_origins(const RunFolder& folder, int64_t update, const std::vector<Json>& origins) {
  std::string lines;
  for (const Json& origin : origins) lines += to_line(origin) + "\n";
  const auto file = numbered(folder.skipped(), "step_", update, ".jsonl");
  make_folder(file.parent_path());
  write_file_atomic(file, lines);
  return file.string();
}

RunFace describe_run(const RowMethod& method, const ModelSpec& spec) {
  const auto metric_name = [&](const char* metric) { return method.config.kind + "/" + metric; };
  const Shown loss{"loss", metric_name("loss")}, validation{"validation loss", "val/loss"},
      norm{"grad norm", metric_name("grad_norm")};
  std::vector<Shown> curves{loss}, others{validation};
  if (method.validation.size > 0) curves.push_back(validation);
  for (const Shown& shown : method.shown) curves.push_back(shown), others.push_back(shown);
  if (method.shown.empty()) curves.push_back(norm), curves.push_back({"learning rate", metric_name("lr")});
  others.push_back(norm), others.push_back({"lr", metric_name("lr")});
  return {.name = method.config.exp_name,
          .model = fmt::format("{}, {:.2f} M parameters", spec.architecture->name,
                               static_cast<double>(spec.num_parameters()) / 1e6),
          .algorithm = method.algorithm,
          .headline = {.goal = loss, .greater_is_better = false, .others = std::move(others)},
          .curves = std::move(curves)};
}

class RowTraining {
 public:
  RowTraining(RowMethod method, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run();

 private:
  RunState state();
  Metrics train(int64_t update);
  Metrics validate();

  Communicator& ranks_;
  Log& log_;
  const RowMethod method_;
  Meshes meshes_;
  RoleMeshes role_meshes_;
  Roles roles_;
  StepTrainer trainer_;
  EpochOrder order_;
  MemoryWatch memory_;
  std::optional<ResumePoint> resume_;
  Run run_;
};

RowTraining::RowTraining(RowMethod method, RunPlan plan, at::Device device, Communicator& ranks, Log& log)
    : ranks_(ranks),
      log_(log),
      method_(std::move(method)),
      meshes_(ranks),
      role_meshes_(role_meshes(method_.settings.places, meshes_)),
      roles_(make_roles(models_in(method_.sources), method_.settings.places, role_meshes_, device)),
      trainer_(method_.settings, step_models(roles_, role_meshes_, device, method_.settings.models),
               {{kPolicyRole, method_.loss}}, role_meshes_, log),
      order_(method_.rows.size, method_.settings.num_groups, method_.config.seed),
      resume_(plan.start.resume),
      run_(std::move(plan), method_.settings.policy().learner.schedule.total_steps,
           describe_run(method_, roles_.policy_spec()), ranks, log) {
  // The rows of an update follow from its number, so they must not change.
  const auto check_rows = [&](const Json& state) {
    if (state.at("rows") != fingerprint_text(method_.rows))
      throw user_error("{}: its rows differ from those of the checkpoint {}; resume with the data of that run",
                       method_.config.trained_key, resume_->folder.string());
  };
  if (resume_) agree(ranks, [&] { restore_checkpoint(*resume_, method_.settings, trainer_, check_rows, log_); });
}

RunState RowTraining::state() {
  Json state = trainer_.state();
  state["rows"] = fingerprint_text(method_.rows);
  return {std::move(state), trained_parts(method_.settings, roles_, role_meshes_, trainer_)};
}

void RowTraining::run() {
  if (const std::string note = restart_note(); !note.empty()) log_.info("{}", note);
  const auto state_now = [this] { return state(); };
  for (int64_t update = run_.first_step(); update <= run_.last_step(); ++update) {
    ranks_.set_step(update);
    std::optional<OperatorTrace> timeline = run_.step_timeline(update);
    Stopwatch watch;
    memory_.begin("train");
    Metrics metrics = train(update);
    add_traffic_metrics(ranks_.traffic(), metrics);
    metrics.add("time/step_total", watch.seconds());
    if (timeline) timeline->save();
    if (method_.validation.size > 0 && run_.is_due(update, method_.config.eval_steps)) {
      memory_.begin("validate");
      metrics.merge(validate());
    }
    metrics.merge(merge_over_ranks(memory_.take(), ranks_));
    run_.track(update, metrics);
    memory_.begin("save");
    run_.save_if_due(update, state_now);
    if (const auto kind = stop_agreed(ranks_)) run_.stop(Stopped(*kind), update, state_now);
  }
  run_.finish();
  log_.say("weights: {}", (run_.folder().checkpoints() / "latest/actor").string());
}

Metrics RowTraining::train(int64_t update) {
  const std::vector<int64_t> rows = order_.update_rows(update);
  const auto plan_home = [&](const StepFacts& facts) { return trainer_.plan_home(facts, update); };
  RlStep step = method_.rows.make_step(rows, plan_home, ranks_.rank());
  step.number = update;
  step.source = [&] { return write_origins(run_.folder(), update, method_.rows.find_origins(rows)); };
  return trainer_.learn(step);
}

Metrics RowTraining::validate() {
  RoleMesh& policy = role_meshes_.policy();
  BatchRule rule = policy_pass(method_.config).rule.with(make_workload(roles_.policy_spec()));
  rule.sequences_per_row = method_.settings.group_size;
  const auto plan_home = [&](const StepFacts& facts) -> Distribution {
    return {world_groups(policy), rank_sequences({plan_ranks(facts.sizes(), rule, policy.dp_size())})};
  };
  RlStep step = method_.validation.make_step(first_numbers(method_.validation.size), plan_home, ranks_.rank());
  trainer_.run_passes(step, {.passes = method_.validation_passes});
  return method_.measure(step, policy.mesh());
}

}  // namespace

StepSettings row_settings(const RowConfig& config, const RowLoss& loss, int64_t num_rows) {
  const WorkerConfig& worker = config.trained;
  const RolePlace place = role_place(worker);
  BatchRule rule = batch_rule(worker, Stage::kTrain);
  rule.sequences_per_row = loss.sequences_per_row;
  TrainingSettings training{
      .key = config.trained_key,
      .epochs = {.mini_batch = loss.sequences_per_row * worker.mini_batch(),
                 .group_size = loss.sequences_per_row,
                 .seed = std::nullopt,
                 .num_ranks = worker.data_ranks(),
                 .micro_batches = rule},
      .learner = learner_options(worker, config.max_grad_norm, count_updates(config, num_rows, worker.mini_batch())),
      .updates = {.prefix = config.kind,
                  .loss_mask = loss.mask,
                  .counted_masks = loss.counted_masks,
                  .weights = loss.weights,
                  .apply_loss_scale = worker.apply_loss_scale,
                  .max_nonfinite_updates = config.max_nonfinite_updates,
                  .dropout_seed = dropout_seed(worker, config.seed)}};
  return {.places = {.roles = {{kPolicyRole, place}}, .sampler = place, .learners = worker.ranks, .sampler_copies = {}},
          .num_groups = worker.mini_batch(),
          .group_size = loss.sequences_per_row,
          .models = {.learnt_mask = loss.mask,
                     .trained = {{kPolicyRole,
                                  {.recomputes = worker.recomputation(),
                                   .with_entropy = false,
                                   .gathers = worker.gathers_layers(),
                                   .mtp_loss_coef = worker.strategy_args.strategy_config.mtp_loss_coef,
                                   .routers = router_rule(worker.strategy_args.strategy_config)}}}},
          .has_advantages = false,
          .updates = {{{kPolicyRole, "train_actor", "actor"}, std::move(training)}}};
}

RoleSource trained_source(const RowConfig& config, const RunStart& start, at::Device device) {
  RoleSource source = role_source(config.trained, device);
  source.lora = make_lora_spec(config.trained.model_args, config.seed);
  source.trains_mtp = config.trained.strategy_args.strategy_config.mtp_loss_coef > 0;
  if (start.resume) source.folder = start.resume->folder / "actor";
  return source;
}

RolePass policy_pass(const RowConfig& config) {
  return {kPolicyRole, Finding::kOldLogProbs, batch_rule(config.trained, Stage::kForward)};
}

void run_rows(RunPlan plan, const std::function<RowMethod(const RunStart&)>& load, at::Device device,
              Communicator& ranks, Log& log) {
  std::optional<RowTraining> training;
  agree(ranks, [&] {
    RowMethod method = load(plan.start);
    training.emplace(std::move(method), std::move(plan), device, ranks, log);
  });
  training->run();
}

}  // namespace roll
