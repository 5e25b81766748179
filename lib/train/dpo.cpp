#include "train/dpo.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/hub_cache.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "loss/dpo.h"
#include "model/device.h"
#include "model/experts.h"
#include "run/memory_watch.h"
#include "step/role_forwards.h"
#include "step/schedule_change.h"
#include "step/step_metrics.h"
#include "step/step_models.h"
#include "step/step_settings.h"
#include "step/updates.h"
#include "train/dpo_data.h"
#include "train/epoch_order.h"
#include "train/row_training.h"
#include "train/sft_data.h"

namespace roll {

namespace {

struct DpoData {
  RoleSources sources;
  TrainedRows<PairRow> rows{};
};

DpoData load_dpo_data(const DpoConfig& config, const RunStart& start, at::Device device, Log& log) {
  RoleSource policy = role_source(config.sft_train, device);
  policy.lora = lora_of(config.sft_train.model_args, config.seed);
  if (start.resume) policy.folder = start.resume->folder / "actor";
  DpoData data{
      {{{kPolicyRole, policy}, {kReferenceRole, role_source(config.reference, device)}}, config.sequence_length}};
  const Tokenizer tokenizer = Tokenizer::load(policy.folder);
  data.rows = load_told<PairRow>(
      config.sft_train.data_args, config.validation.data_args, config.sequence_length,
      [&](const DataArgs& rows, Progress* progress) {
        return load_pair_rows(config, rows, policy.folder, tokenizer, progress);
      },
      log);
  return data;
}

RolePlaces places_of_dpo(const DpoConfig& config) {
  const RolePlace policy = role_place(config.sft_train);
  return {.roles = {{kPolicyRole, policy}, {kReferenceRole, role_place(config.reference)}},
          .sampler = policy,
          .learners = config.sft_train.ranks,
          .sampler_copies = {}};
}

RunFace dpo_face(const DpoConfig& config, const ModelSpec& spec) {
  std::vector<Shown> curves{
      {"loss", "dpo/loss"}, {"right preferences", "rewards/accuracies"}, {"margin", "rewards/margins"}};
  if (!config.validation.data_args.file_name.empty())
    curves.insert(curves.begin() + 1, {"validation loss", "val/loss"});
  return {.name = config.exp_name,
          .model = fmt::format("{}, {:.2f} M parameters", spec.architecture->name,
                               static_cast<double>(spec.num_parameters()) / 1e6),
          .algorithm = config.ipo ? "IPO (Azar et al. 2023)" : "DPO (Rafailov et al. 2023)",
          .headline = {.goal = {"loss", "dpo/loss"},
                       .greater_is_better = false,
                       .others = {{"validation loss", "val/loss"},
                                  {"right preferences", "rewards/accuracies"},
                                  {"margin", "rewards/margins"},
                                  {"grad norm", "dpo/grad_norm"},
                                  {"lr", "dpo/lr"}}},
          .curves = std::move(curves)};
}

class Dpo {
 public:
  Dpo(const DpoConfig& config, DpoData data, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run();

 private:
  void take_up(const ResumePoint& point);
  RunState state();
  BatchRule pair_rule(Stage stage) const;
  RolePass reference_pass() const {
    return {kReferenceRole, Finding::kReference, batch_rule(config_.reference, Stage::kForward)};
  }
  LossResult loss_of(const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts) const;
  Metrics train(int64_t update);
  Metrics validate();

  const DpoConfig& config_;
  Communicator& ranks_;
  Log& log_;
  StoredRows<PairRow> rows_, validation_rows_;
  int64_t total_updates_;
  const DpoSettings loss_;
  Meshes meshes_;
  RoleMeshes mesh_of_;
  Roles roles_;
  Transformer& policy_;
  Mesh& mesh_;
  StepModels models_;
  LearnerOptions options_;
  RouterRule routers_;
  Learner learner_;
  MemoryWatch memory_;
  EpochOrder order_;
  std::optional<ResumePoint> resume_;
  Run run_;
};

Dpo::Dpo(const DpoConfig& config, DpoData data, RunPlan plan, at::Device device, Communicator& ranks, Log& log)
    : config_(config),
      ranks_(ranks),
      log_(log),
      rows_(std::move(data.rows.training)),
      validation_rows_(std::move(data.rows.validation)),
      total_updates_(count_updates(config, rows_.size(), config.sft_train.mini_batch())),
      loss_{.beta = config.beta, .ipo = config.ipo, .label_smoothing = config.label_smoothing},
      meshes_(ranks),
      mesh_of_(role_meshes(places_of_dpo(config), meshes_)),
      roles_(make_roles(models_in(data.sources), places_of_dpo(config), mesh_of_, device)),
      policy_(*roles_.policy()),
      mesh_(mesh_of_.policy().mesh()),
      models_(step_models(roles_, mesh_of_, device, {})),
      options_(learner_options(config.sft_train, config.max_grad_norm, total_updates_)),
      routers_(router_rule(config.sft_train.strategy_args.strategy_config)),
      learner_(kPolicyRole, policy_.trained(), options_, {mesh_, policy_.parts()}),
      order_(rows_.size(), config.sft_train.mini_batch(), config.seed),
      resume_(plan.start.resume),
      run_(std::move(plan), total_updates_, dpo_face(config, policy_.spec()), ranks, log) {
  if (resume_) agree(ranks, [&] { take_up(*resume_); });
}

/// What is not in the model's folder. Where an update's pairs begin follows from its number.
void Dpo::take_up(const ResumePoint& point) {
  const std::filesystem::path file = point.folder / "state.json";
  const Json state = read_json(file);
  try {
    if (state.at("rows") != fingerprint_text(rows_.fingerprint()))
      throw user_error("the rows of actor_train are not those of {}; resume with the data of that run",
                       point.folder.string());
    learner_.load(state.at("actor"), point.folder / "optimizer", "actor");
    if (ranks_.is_first()) log_schedule_change(kPolicyRole, state.at("actor"), options_.schedule, log_);
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: is not the state of such a run: {}", file.string(), error.what());
  }
}

RunState Dpo::state() {
  return {{{"rows", fingerprint_text(rows_.fingerprint())}, {"actor", learner_.state()}},
          {checkpoint_part("actor", policy_, mesh_, [this] { return learner_.optimizer_shard(); })}};
}

BatchRule Dpo::pair_rule(Stage stage) const {
  BatchRule rule = batch_rule(config_.sft_train, stage).with(workload_of(policy_.spec()));
  rule.unit = 2;
  return rule;
}

LossResult Dpo::loss_of(const Experience& e, const at::Tensor& log_probs, const MiniBatchCounts& counts) const {
  return dpo_loss(
      {.axis = e.axis(), .log_probs = log_probs, .ref_log_probs = e.ref_log_probs, .response_mask = e.response_mask()},
      counts, loss_);
}

Metrics Dpo::train(int64_t update) {
  const std::vector<PairRow> pairs = rows_.at(order_.rows_of(update));
  Metrics metrics;
  RlStep step = step_of(pairs, pair_rule(Stage::kTrain), mesh_of_.policy());
  run_forwards(step, {.passes = {reference_pass()}}, models_, *mesh_of_.learners, log_, metrics);
  const int64_t num_sequences = step.facts.num_sequences();
  const UpdatePlan plan{.settings = {.prefix = "dpo",
                                     .loss_mask = "response_mask",
                                     .counted_masks = {"response_mask"},
                                     .apply_loss_scale = config_.sft_train.apply_loss_scale,
                                     .max_nonfinite_updates = config_.max_nonfinite_updates,
                                     .dropout_seed = dropout_seed(config_.sft_train, config_.seed)},
                        .rule = pair_rule(Stage::kTrain),
                        .mini_batches = {first_numbers(num_sequences)},
                        .sizes = step.facts.sizes(),
                        .num_groups = std::ssize(pairs),
                        .device = models_.device,
                        .phase = {&log_, fmt::format("step {}: train", update)},
                        .step = update,
                        .source = [&] { return write_origins(run_.folder(), update, pairs); },
                        .empty_pass = empty_pass(policy_.backbone(), config_.sft_train.recomputation(),
                                                 config_.sft_train.gathers_layers()),
                        .behind_update = balancing(policy_.backbone(), routers_, mesh_.dp())};
  const MicroBatchLoss<Experience> loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const PackedTokens tokens = with_routers(e.tokens, policy_.spec(), routers_);
    const auto out = token_log_probs(policy_, tokens, /*temperature=*/1.0, /*with_entropy=*/false,
                                     config_.sft_train.recomputation(), e.host_mask("response_mask"));
    LossResult result;
    if (out.log_probs.defined()) result = loss_of(e, out.log_probs, counts);  // else a later stage has them
    add_router_metrics("dpo", out.routers.get(), result);
    return result;
  };
  metrics.merge(run_updates(step.here, plan, learner_, mesh_, loss));
  return metrics;
}

Metrics Dpo::validate() {
  RlStep step = step_of(validation_rows_.at(first_numbers(validation_rows_.size())), pair_rule(Stage::kForward),
                        mesh_of_.policy());
  Metrics of_forwards;
  run_forwards(step,
               {.passes = {reference_pass(),
                           {kPolicyRole, Finding::kOldLogProbs, batch_rule(config_.sft_train, Stage::kForward)}}},
               models_, *mesh_of_.learners, log_, of_forwards);
  Communicator& dp = mesh_.dp();
  const auto counts = count_masks(step.here, {"response_mask"}, validation_rows_.size(), dp);
  const at::NoGradGuard no_grad;
  Metrics of_here, metrics;
  if (step.here.num_sequences() > 0) of_here = all_metrics(loss_of(step.here, step.here.old_log_probs, counts));
  for (const auto& [name, value] : merge_over_ranks(of_here, dp).values())
    metrics.add(name == "dpo/loss" ? "val/loss" : "val/" + name, value);
  return metrics;
}

void Dpo::run() {
  RowTraining training{.train = [this](int64_t update) { return train(update); },
                       .validate = {},
                       .state = [this] { return state(); },
                       .eval_steps = config_.eval_steps};
  if (validation_rows_.size() > 0) training.validate = [this](int64_t) { return validate(); };
  run_row_training(training, run_, memory_, ranks_, log_);
}

}  // namespace

void run_dpo(const DpoConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  RunPlan plan = plan_run(config, flags, config.sft_train.backend_timeout * 60,
                          {{kPolicyRole, config.sft_train.mini_batch()}}, ranks, log);
  std::optional<Dpo> pipeline;
  agree(ranks, [&] {
    DpoData data = load_dpo_data(config, plan.start, device, log);
    pipeline.emplace(config, std::move(data), std::move(plan), device, ranks, log);
  });
  pipeline->run();
}

}  // namespace roll
