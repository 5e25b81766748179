#include "train/sft.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/hub_cache.h"
#include "dist/agree.h"
#include "model/device.h"
#include "model/experts.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "run/memory_watch.h"
#include "run/run.h"
#include "settings/placement.h"
#include "step/forward.h"
#include "step/plugin_inputs.h"
#include "step/schedule_change.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"
#include "step/updates.h"
#include "train/epoch_order.h"
#include "train/row_training.h"
#include "train/sft_data.h"
#include "train/teacher.h"

namespace roll {

namespace {

/// Each row is a group of its own.
Batch batch_of(const std::vector<SftRow>& rows) {
  Batch batch;
  std::vector<std::vector<int64_t>> sequences;
  std::vector<float> mask;
  for (const SftRow& row : rows) {
    sequences.push_back(row.ids);
    mask.insert(mask.end(), row.labels_mask.begin(), row.labels_mask.end());
  }
  batch.tokens = pack_tokens(sequences);
  batch.sequence_index = first_numbers(std::ssize(rows));
  batch.group_index = batch.sequence_index;
  batch.masks["labels_mask"] = at::tensor(mask, at::kFloat);
  return batch;
}

struct SftData {
  std::filesystem::path model_folder;
  TrainedRows<SftRow> rows{};
};

/// `C`: SftConfig or DistillConfig.
template <class C>
SftData load_sft_data(const C& config, const RunStart& start, Log& log) {
  SftData data{start.resume ? start.resume->folder / "actor"
                            : model_folder(config.sft_train.model_args.model_name_or_path.value())};
  const Tokenizer tokenizer = Tokenizer::load(data.model_folder);
  data.rows = load_told<SftRow>(
      config.sft_train.data_args, config.validation.data_args, config.sequence_length,
      [&](const DataArgs& rows, Progress* progress) {
        return load_sft_rows(config, rows, data.model_folder, tokenizer, progress);
      },
      log);
  return data;
}

RunFace sft_face(const SftConfig& config, const ModelSpec& spec) {
  const auto own = [&](const char* metric) { return config.kind + "/" + metric; };
  std::vector<Shown> curves{{"loss", own("loss")}, {"grad norm", own("grad_norm")}, {"learning rate", own("lr")}};
  if (!config.validation.data_args.file_name.empty())
    curves.insert(curves.begin() + 1, {"validation loss", "val/loss"});
  return {.name = config.exp_name,
          .model = fmt::format("{}, {:.2f} M parameters", spec.architecture->name,
                               static_cast<double>(spec.num_parameters()) / 1e6),
          .algorithm = config.kind == "distill" ? "distillation from written answers" : "supervised fine-tuning",
          .headline = {.goal = {"loss", own("loss")},
                       .greater_is_better = false,
                       .others = {{"validation loss", "val/loss"}, {"grad norm", own("grad_norm")}, {"lr", own("lr")}}},
          .curves = std::move(curves)};
}

std::optional<Teacher> teacher_of(const DistillConfig* config, int64_t vocabulary, at::Device device, Meshes& meshes) {
  if (!config) return {};
  return std::optional<Teacher>(std::in_place, *config, vocabulary, device, meshes);
}

class Sft {
 public:
  /// `distillation`: `config`, where it is one; else null.
  Sft(const SftConfig& config, const DistillConfig* distillation, SftData data, RunPlan plan, at::Device device,
      Communicator& ranks, Log& log);
  void run();

 private:
  void take_up(const ResumePoint& point);
  RunState state();
  Batch batch_of_update(const std::vector<SftRow>& rows, const BatchRule& rule, const Phase& phase);
  LossResult loss_of(const Batch& micro_batch, const MiniBatchCounts& counts) const;
  Metrics train(int64_t update);
  Metrics validate(int64_t update);

  const SftConfig& config_;
  const DistillConfig* const distillation_;
  Communicator& ranks_;
  Log& log_;
  StoredRows<SftRow> rows_, validation_rows_;
  int64_t batch_size_;
  int64_t total_updates_;
  EpochOrder order_;
  Meshes meshes_;
  Mesh& mesh_;
  Transformer model_;
  std::optional<Teacher> teacher_;
  LearnerOptions options_;
  Learner learner_;
  MemoryWatch memory_;
  LossSettings settings_;
  RouterRule routers_;
  std::optional<LossPlugin> loss_;
  std::optional<ResumePoint> resume_;
  Run run_;
};

Sft::Sft(const SftConfig& config, const DistillConfig* distillation, SftData data, RunPlan plan, at::Device device,
         Communicator& ranks, Log& log)
    : config_(config),
      distillation_(distillation),
      ranks_(ranks),
      log_(log),
      rows_(std::move(data.rows.training)),
      validation_rows_(std::move(data.rows.validation)),
      batch_size_(config.sft_train.mini_batch()),
      total_updates_(count_updates(config, rows_.size(), batch_size_)),
      order_(rows_.size(), batch_size_, config.seed),
      meshes_(ranks),
      mesh_(meshes_.of(mesh_shape(config.sft_train))),
      model_(Transformer::load(data.model_folder, device, model_dtype(config.sft_train.model_args, device),
                               model_parallel(mesh_, stages_of(config.sft_train, data.model_folder)), architectures(),
                               lora_of(config.sft_train.model_args, config.seed))
                 .for_length(config.sequence_length)),
      teacher_(teacher_of(distillation, model_.spec().vocab_size, device, meshes_)),
      options_(learner_options(config.sft_train, config.max_grad_norm, total_updates_)),
      learner_(config.trained, model_.trained(), options_, {mesh_, model_.parts()}),
      settings_(loss_settings(config.loss)),
      routers_(router_rule(config.sft_train.strategy_args.strategy_config)),
      loss_(open_plugin(config.sft_train.loss_func, config.trained + ".loss_func")),
      resume_(plan.start.resume),
      run_(std::move(plan), total_updates_, sft_face(config, model_.spec()), ranks, log) {
  if (resume_) agree(ranks, [&] { take_up(*resume_); });
}

/// What is not in the model's folder. Where an update's rows begin follows from its number.
void Sft::take_up(const ResumePoint& point) {
  const std::filesystem::path file = point.folder / "state.json";
  const Json state = read_json(file);
  try {
    if (state.at("rows") != fingerprint_text(rows_.fingerprint()))
      throw user_error("the rows of {} are not those of {}; resume with the data of that run", config_.trained,
                       point.folder.string());
    learner_.load(state.at("actor"), point.folder / "optimizer", "actor");
    if (ranks_.is_first()) log_schedule_change(config_.trained, state.at("actor"), options_.schedule, log_);
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: is not the state of such a run: {}", file.string(), error.what());
  }
}

RunState Sft::state() {
  return {{{"rows", fingerprint_text(rows_.fingerprint())}, {"actor", learner_.state()}},
          {checkpoint_part("actor", model_, mesh_, [this] { return learner_.optimizer_shard(); })}};
}

/// All of it; of a distillation this rank's part, with what the teacher says.
Batch Sft::batch_of_update(const std::vector<SftRow>& rows, const BatchRule& rule, const Phase& phase) {
  const Batch all = batch_of(rows);
  if (!teacher_) return all;
  const Distribution home{mesh_groups(ranks_.size(), mesh_.shape()),
                          shares_of({plan_ranks(lengths_of(all), rule, mesh_.dp_size())})};
  Batch here = select(all, home.share_of(ranks_.rank()));
  here.taught = teacher_->taught(all, home, ranks_, phase);
  return here;
}

LossResult Sft::loss_of(const Batch& b, const MiniBatchCounts& counts) const {
  const PackedTokens tokens = with_routers(b.tokens, model_.spec(), routers_);
  const bool is_taught = b.taught.defined();
  const int64_t k = is_taught ? b.taught.size(1) / 2 : 0;
  const auto out = token_log_probs(model_, tokens, /*temperature=*/1.0, /*with_entropy=*/false,
                                   config_.sft_train.recomputation(), b.host_mask("labels_mask"), /*with_energy=*/false,
                                   is_taught ? b.taught.narrow(1, k, k).to(at::kLong) : at::Tensor());
  LossResult result;
  if (out.log_probs.defined()) {  // else a later stage of the pipeline has them
    const SftInputs inputs{.axis = b.axis(), .log_probs = out.log_probs, .labels_mask = b.mask("labels_mask")};
    if (loss_)
      result = call_plugin(*loss_, plugin_inputs(b, {{"log_probs", out.log_probs}}), counts, settings_.modes);
    else if (is_taught)
      result = distillation_loss(inputs, {.logits = out.of_choices, .teacher = b.taught.narrow(1, 0, k)}, counts,
                                 settings_, distillation_->divergence);
    else
      result = sft_loss(inputs, counts, settings_);
  }
  add_router_metrics(config_.kind, out.routers.get(), result);
  return result;
}

Metrics Sft::train(int64_t update) {
  const std::vector<SftRow> rows = rows_.at(order_.rows_of(update));
  const BatchRule rule = batch_rule(config_.sft_train, Stage::kTrain).with(workload_of(model_.spec()));
  const Batch here = batch_of_update(rows, rule, {&log_, fmt::format("step {}: teacher", update)});
  std::vector<int64_t> lengths;
  for (const SftRow& row : rows) lengths.push_back(std::ssize(row.ids));
  const UpdatePlan plan{.settings = {.prefix = config_.kind,
                                     .loss_mask = "labels_mask",
                                     .counted_masks = settings_.counted_masks,
                                     .weights = sft_weight_rules(settings_),
                                     .apply_loss_scale = config_.sft_train.apply_loss_scale,
                                     .max_nonfinite_updates = config_.max_nonfinite_updates,
                                     .dropout_seed = dropout_seed(config_.sft_train, config_.seed)},
                        .rule = rule,
                        .mini_batches = {first_numbers(std::ssize(rows))},
                        .sizes = lengths,
                        .num_groups = std::ssize(rows),
                        .device = model_.device(),
                        .phase = {&log_, fmt::format("step {}: train", update)},
                        .step = update,
                        .source = [&] { return write_origins(run_.folder(), update, rows); },
                        .empty_pass = empty_pass(model_.backbone(), config_.sft_train.recomputation(),
                                                 config_.sft_train.gathers_layers()),
                        .behind_update = balancing(model_.backbone(), routers_, mesh_.dp())};
  const MicroBatchLoss<Batch> loss = [this](const Batch& b, const MiniBatchCounts& counts) {
    return loss_of(b, counts);
  };
  return run_updates(here, plan, learner_, mesh_, loss);
}

Metrics Sft::validate(int64_t update) {
  const Batch batch = batch_of(validation_rows_.at(first_numbers(validation_rows_.size())));
  const BatchRule rule = batch_rule(config_.sft_train, Stage::kForward).with(workload_of(model_.spec()));
  const ForwardPass forward = forward_pass(model_, [&](const Batch& b) {
    return token_log_probs(model_, b.tokens, 1.0, false, {}, b.host_mask("labels_mask")).log_probs;
  });
  const Phase phase{&log_, fmt::format("step {}: validate", update)};
  const at::Tensor log_probs = forward_step(batch, rule, model_.device(), mesh_, forward, phase);
  Metrics metrics;
  const at::Tensor& mask = batch.mask("labels_mask");
  const double num_tokens = mask.sum(at::kDouble).item<double>();
  metrics.add("val/loss", -(log_probs * mask).sum(at::kDouble).item<double>() / num_tokens, num_tokens);
  return metrics;
}

void Sft::run() {
  RowTraining training{.train = [this](int64_t update) { return train(update); },
                       .validate = {},
                       .state = [this] { return state(); },
                       .eval_steps = config_.eval_steps};
  if (validation_rows_.size() > 0) training.validate = [this](int64_t update) { return validate(update); };
  run_row_training(training, run_, memory_, ranks_, log_);
}

template <class C>
void run_rows(const C& config, const DistillConfig* distillation, const RunFlags& flags, at::Device device,
              Communicator& ranks, Log& log) {
  RunPlan plan = plan_run(config, flags, config.sft_train.backend_timeout * 60,
                          {{config.trained, config.sft_train.mini_batch()}}, ranks, log);
  std::optional<Sft> pipeline;
  agree(ranks, [&] {
    SftData data = load_sft_data(config, plan.start, log);
    pipeline.emplace(config, distillation, std::move(data), std::move(plan), device, ranks, log);
  });
  pipeline->run();
}

}  // namespace

void run_sft(const SftConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  run_rows(config, nullptr, flags, device, ranks, log);
}

void run_distill(const DistillConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  run_rows(config, &config, flags, device, ranks, log);
}

}  // namespace roll
