#include "train/sft.h"

#include <ATen/ATen.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/stop.h"
#include "data/sft_rows.h"
#include "dist/agree.h"
#include "model/log_probs.h"
#include "model/transformer.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "track/progress.h"
#include "track/tracker.h"
#include "train/comm_metrics.h"
#include "train/forward.h"
#include "train/plugin_inputs.h"
#include "train/ppo.h"
#include "train/roles.h"
#include "train/run_folder.h"
#include "train/updates.h"

namespace roll {

namespace {

std::vector<SftRow> load_sft_rows(const DataArgs& data, const SftConfig& config, const SftOptions& options,
                                  const Tokenizer& tokenizer, const std::string& what, Log& log) {
  const auto chat =
      ChatTemplate::load(options.model_folder, data.template_name.value_or(config.global_template.value_or("native")));
  const SftEncoder encoder{
      .render = [&](const Json& messages, bool open) { return chat.render(messages, open); },
      .encode = [&](std::string_view text, bool add) { return tokenizer.encode(text, /*parse_special=*/true, add); },
      .eos_ids = tokenizer.eos_ids()};
  DroppedRows dropped;
  auto rows = encode_sft_rows(read_rows(data.file_name, {data.messages, data.prompt}), data.response, encoder,
                              config.sequence_length, data.preprocessing_num_workers, dropped);
  log.info("{}: {} rows{}", what, rows.size(),
           dropped.total()
               ? fmt::format(" ({} longer than sequence_length = {} dropped)", dropped.total(), config.sequence_length)
               : "");
  return rows;
}

/// The rows as one packed batch; labels_mask takes the place of response_mask.
Experience batch_of(const std::vector<SftRow>& rows, const std::vector<int64_t>& indices) {
  Experience batch;
  std::vector<std::vector<int64_t>> sequences;
  std::vector<float> mask;
  for (size_t i = 0; i < indices.size(); ++i) {
    const SftRow& row = rows[indices[i]];
    sequences.push_back(row.ids);
    mask.insert(mask.end(), row.labels_mask.begin(), row.labels_mask.end());
    const auto number = static_cast<int64_t>(i);
    batch.sequence_index.push_back(number);
    batch.group_index.push_back(number);
    batch.prompt_lengths.push_back(1);
    batch.response_lengths.push_back(static_cast<int64_t>(row.ids.size()) - 1);
    batch.scores.push_back(0);
    batch.truncated.push_back(0);
    batch.difficulties.push_back(0);
  }
  batch.tokens = pack_tokens(sequences);
  batch.response_mask = at::tensor(mask, at::kFloat);
  return batch;
}

Masks labels_masks(const Experience& e) {
  return {{"labels_mask", e.response_mask}};
}

}  // namespace

struct SftPipeline::State {
  State(const SftConfig& config, SftOptions options, Communicator& ranks, Log& log);

  int64_t batch_size() const { return config_.sft_train.mini_batch(ranks_.size()); }
  int64_t total_updates() const;
  std::vector<int64_t> rows_of(int64_t update);
  Metrics train(int64_t update);
  Metrics validate();
  void save(int64_t update);
  void run();

  const SftConfig& config_;
  SftOptions options_;
  Communicator& ranks_;
  Log& log_;
  RunFolder folder_;
  Tokenizer tokenizer_;
  std::vector<SftRow> rows_, validation_rows_;
  Meshes meshes_;
  Mesh& mesh_;
  Transformer model_;
  Learner learner_;
  std::optional<LossPlugin> loss_;
  std::optional<Tracker> tracker_;
  std::vector<int64_t> order_;
  int64_t order_epoch_ = -1;
};

SftPipeline::State::State(const SftConfig& config, SftOptions options, Communicator& ranks, Log& log)
    : config_(config),
      options_(std::move(options)),
      ranks_(ranks),
      log_(log),
      folder_(config.output_dir),
      tokenizer_(Tokenizer::load(options_.model_folder)),
      rows_(load_sft_rows(config.sft_train.data_args, config, options_, tokenizer_, "training rows", log)),
      meshes_(ranks),
      mesh_(meshes_.of(mesh_shape(config.sft_train))),
      model_(Transformer::load(options_.model_folder, options_.device,
                               model_dtype(config.sft_train.model_args, options_.device), model_parallel(mesh_))),
      learner_("sft_train", model_.parameters(),
               learner_options(config.sft_train, config.max_grad_norm, total_updates()), {mesh_, model_.parts()}) {
  if (config.sft_train.loss_func) loss_ = LossPlugin::open(config.sft_train.loss_func, "sft_train.loss_func");
  const DataArgs& validation = config.validation.data_args;
  if (!validation.file_name.empty())
    validation_rows_ = load_sft_rows(validation, config, options_, tokenizer_, "validation rows", log);
  if (!ranks.is_first()) return;
  folder_.start(options_.resolved_config, log);
  log.copy_to(std::filesystem::path(config.logging_dir.value_or(config.output_dir)) / "log.txt");
  tracker_.emplace(TrackerOptions{.track_with = config.track.track_with,
                                  .output_dir = folder_.path(),
                                  .tensorboard_dir = config.track.tracker_kwargs.log_dir.value_or(""),
                                  .headline = {"sft/loss", "val/loss", "sft/grad_norm", "sft/lr", "time/step_total"}},
                   log);
}

int64_t SftPipeline::State::total_updates() const {
  const auto rows = static_cast<int64_t>(rows_.size());
  const int64_t updates = config_.max_steps.value_or(config_.num_train_epochs * rows / batch_size());
  if (updates > 0) return updates;
  throw user_error("sft_train: {} rows x {} epochs are fewer than one update of {}; lower the batch size or add rows",
                   rows, config_.num_train_epochs, batch_size());
}

/// Position p of the endless stream is entry p % rows of the shuffle of epoch p / rows.
std::vector<int64_t> SftPipeline::State::rows_of(int64_t update) {
  const auto num_rows = static_cast<int64_t>(rows_.size());
  std::vector<int64_t> chosen;
  for (int64_t p = (update - 1) * batch_size(); p < update * batch_size(); ++p) {
    if (p / num_rows != order_epoch_) {
      order_epoch_ = p / num_rows;
      order_ = random_permutation(num_rows, {.seed = static_cast<uint64_t>(config_.seed),
                                             .purpose = Purpose::kEpochShuffle,
                                             .step = static_cast<uint32_t>(order_epoch_)});
    }
    chosen.push_back(order_[p % num_rows]);
  }
  return chosen;
}

Metrics SftPipeline::State::train(int64_t update) {
  const Experience batch = batch_of(rows_, rows_of(update));
  const bool recompute = config_.sft_train.recomputes();
  std::vector<int64_t> all(batch.num_sequences());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const UpdatePlan plan{.prefix = "sft",
                        .rule = batch_rule(config_.sft_train, Stage::kTrain, model_.spec()),
                        .mini_batches = {all},
                        .num_groups = batch.num_sequences(),
                        .apply_loss_scale = config_.sft_train.apply_loss_scale,
                        .device = options_.device,
                        .loss_mask_keys = config_.loss.loss_mask_keys,
                        .loss_mask = "labels_mask"};
  return run_updates(batch, plan, learner_, mesh_, labels_masks, [&](const Experience& e, const MiniBatchCounts& c) {
    const auto out = token_log_probs(model_, e.tokens, /*temperature=*/1.0, /*with_entropy=*/false, recompute,
                                     e.response_mask.to(at::kBool));
    if (loss_)
      return call_plugin(*loss_, plugin_inputs(e, {{"log_probs", out.log_probs}}, labels_masks(e)), c, config_.loss);
    return sft_loss({.axis = e.axis(), .log_probs = out.log_probs, .labels_mask = e.response_mask}, c, config_.loss);
  });
}

Metrics SftPipeline::State::validate() {
  std::vector<int64_t> all(validation_rows_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const Experience batch = batch_of(validation_rows_, all);
  const auto rule = batch_rule(config_.sft_train, Stage::kForward, model_.spec());
  const at::Tensor log_probs = forward_step(batch, rule, options_.device, 1, mesh_, [&](const Experience& e) {
    const auto out = token_log_probs(model_, e.tokens, 1.0, false, false, e.response_mask.to(at::kBool));
    return std::vector<at::Tensor>{out.log_probs};
  })[0];
  Metrics metrics;
  const double num_tokens = batch.response_mask.sum(at::kDouble).item<double>();
  metrics.add("val/loss", -(log_probs * batch.response_mask).sum(at::kDouble).item<double>() / num_tokens, num_tokens);
  return metrics;
}

void SftPipeline::State::save(int64_t update) {
  ranks_.traffic().set_phase("checkpoint");
  const NamedTensors whole = gather_on_first(model_, mesh_);
  if (ranks_.is_first())
    folder_.save_checkpoint(update, config_.max_ckpt_to_keep, [&](const std::filesystem::path& folder) {
      std::filesystem::create_directory(folder / "actor");
      model_.write_files(folder / "actor", whole);
    });
  ranks_.barrier("checkpoint");
}

void SftPipeline::State::run() {
  const int64_t total = total_updates();
  Progress progress(log_, "sft", total, "updates");
  for (int64_t update = 1; update <= total; ++update) {
    ranks_.set_step(update);
    Stopwatch watch;
    Metrics metrics = train(update);
    add_traffic_metrics(ranks_.traffic(), metrics);
    metrics.add("time/step_total", watch.seconds());
    const bool is_last = update == total;
    const bool validates = is_last || (config_.eval_steps > 0 && update % config_.eval_steps == 0);
    if (validates && !validation_rows_.empty()) metrics.merge(validate());
    const bool logs = is_last || update % config_.logging_steps == 0;
    if (tracker_ && logs) tracker_->write(update, metrics.values());
    if (is_last || (config_.save_steps > 0 && update % config_.save_steps == 0)) save(update);
    progress.advance();
    if (stop_agreed(ranks_)) throw_if_stopped();
  }
  log_.info("weights: {}", (folder_.checkpoint(total) / "actor").string());
}

SftPipeline::SftPipeline(const SftConfig& config, SftOptions options, Communicator& ranks, Log& log)
    : state_(std::make_unique<State>(config, std::move(options), ranks, log)) {}

SftPipeline::~SftPipeline() = default;

void SftPipeline::run() {
  state_->run();
}

}  // namespace roll
