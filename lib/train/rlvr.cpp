#include "train/rlvr.h"

#include <ATen/ATen.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop.h"
#include "checkpoint/safetensors.h"
#include "data/prompt_stream.h"
#include "dist/agree.h"
#include "model/device.h"
#include "ops/matmul_peak.h"
#include "optim/learner.h"
#include "track/curve.h"
#include "track/progress.h"
#include "track/tracker.h"
#include "train/advantage_stage.h"
#include "train/collect.h"
#include "train/comm_metrics.h"
#include "train/experience_dump.h"
#include "train/ppo.h"
#include "train/prompts.h"
#include "train/run_folder.h"
#include "train/summary.h"

namespace roll {

namespace {

std::optional<PromptStream> open_prompts(const Config& config, const RlvrOptions& options, const Tokenizer& tokenizer,
                                         Log& log) {
  if (config.rollout_replay) return std::nullopt;
  const PromptSource source{.model_folder = options.folders.actor,
                            .data = config.actor_train.data_args,
                            .global_template = config.global_template,
                            .tag_to_template = config.tag_to_template,
                            .domains = domain_tags(config.rewards),
                            .prompt_length = config.prompt_length};
  return PromptStream(load_prompts(source, tokenizer, "training prompts", log),
                      config.actor_train.data_args.domain_interleave_probs, static_cast<uint64_t>(config.seed));
}

std::vector<Row> open_validation(const Config& config, const RlvrOptions& options, const Tokenizer& tokenizer,
                                 Log& log) {
  if (!config.validates()) return {};
  const PromptSource source{.model_folder = options.folders.actor,
                            .data = config.validation.data_args,
                            .global_template = config.global_template,
                            .tag_to_template = config.tag_to_template,
                            .domains = domain_tags(config.rewards),
                            .prompt_length = config.val_prompt_length.value_or(config.prompt_length)};
  return load_prompts(source, tokenizer, "validation prompts", log);
}

SamplingParams sampling_of(const Config& config, const GeneratingArgs& generating, const Tokenizer& tokenizer,
                           Purpose purpose, int64_t step) {
  SamplingParams params;
  params.generating = generating;
  params.generating.max_new_tokens = generating.max_new_tokens.value_or(config.response_length.value());
  params.eos_ids = tokenizer.eos_ids();
  params.seed = static_cast<uint64_t>(config.seed);
  params.purpose = purpose;
  params.step = static_cast<uint32_t>(step);
  params.max_running_requests = config.max_running_requests;
  const StrategyConfig& engine = config.actor_infer.strategy_args.strategy_config;
  params.shares_prefill = engine.enable_prefix_caching;
  params.max_prefill_tokens = engine.max_num_batched_tokens.value_or(params.max_prefill_tokens);
  return params;
}

}  // namespace

struct RlvrPipeline::State {
  State(const Config& config, RlvrOptions options, Communicator& ranks, Log& log);

  void run();
  void run_step(int64_t step);
  Metrics train_step(int64_t step);
  std::vector<RolloutRecord> records_of(int64_t step, Metrics& metrics);
  std::vector<RolloutRecord> sample(int64_t step, Metrics& metrics);
  std::vector<RolloutRecord> collect(CollectRequest request, CollectTimes* times);
  void update_sampler();
  void put_training_away();
  void bring_training_back();
  double step_flops(const Experience& step, bool trains_actor) const;
  Metrics validate(int64_t step);
  void save(int64_t step);
  void finish();

  const Config& config_;
  RlvrOptions options_;
  Communicator& ranks_;
  Log& log_;
  RunFolder folder_;
  Tokenizer tokenizer_;
  std::optional<PromptStream> prompts_;
  std::vector<Row> validation_rows_;
  Meshes meshes_;
  RoleMeshes mesh_of_;
  Roles roles_;
  std::optional<Transformer> sampler_;  // its own copy of the policy, where its layout differs from the trainer's
  ForwardNeeds needs_;
  ExperienceState experience_state_;
  Collector collector_;
  std::optional<CriticTrainer> critic_;
  ActorTrainer actor_;
  double matmul_peak_ = 0;          // floating-point operations per second of this rank
  std::optional<Tracker> tracker_;  // rank 0
  std::vector<double> scores_, accuracies_;
};

RlvrPipeline::State::State(const Config& config, RlvrOptions options, Communicator& ranks, Log& log)
    : config_(config),
      options_(std::move(options)),
      ranks_(ranks),
      log_(log),
      folder_(config.output_dir),
      tokenizer_(Tokenizer::load(options_.folders.actor)),
      prompts_(open_prompts(config, options_, tokenizer_, log)),
      validation_rows_(open_validation(config, options_, tokenizer_, log)),
      meshes_(ranks),
      mesh_of_(role_meshes(config, meshes_)),
      roles_(load_roles(config, options_.folders, mesh_of_, options_.device)),
      needs_(forward_needs(config, updates_per_step(config, ranks.size()) == 1)),
      experience_state_(config.experience),
      collector_(config.rewards, config.response_length.value(), mesh_of_.sampler, log),
      actor_(config, roles_.actor, mesh_of_.actor, log) {
  if (roles_.critic) critic_.emplace(config, *roles_.critic, mesh_of_.critic, log);
  if (mesh_of_.sampler.shape().tp != mesh_of_.actor.shape().tp)
    sampler_ = Transformer::load(options_.folders.actor, options_.device, roles_.actor.dtype(),
                                 model_parallel(mesh_of_.sampler));
  if (!ranks.is_first()) return;
  folder_.start(options_.resolved_config, log);
  log.copy_to(std::filesystem::path(config.logging_dir.value_or(config.output_dir)) / "log.txt");
  tracker_.emplace(TrackerOptions{.track_with = config.track.track_with,
                                  .output_dir = folder_.path(),
                                  .tensorboard_dir = config.track.tracker_kwargs.log_dir.value_or(""),
                                  .headline = rlvr_headline()},
                   log);
}

void RlvrPipeline::State::run() {
  log_.info("{}", describe_roles(roles_, options_.device));
  if (config_.eval_steps > 0 && !validation_rows_.empty()) {
    const auto values = validate(0).values();
    if (tracker_) tracker_->write(0, values);
  }
  for (int64_t step = 1; step <= config_.max_steps; ++step) run_step(step);
  finish();
}

void RlvrPipeline::State::run_step(int64_t step) {
  ranks_.set_step(step);
  Stopwatch watch;
  Metrics metrics = train_step(step);
  for (const auto& [name, value] : metrics.values())
    if (name == "critic/score/mean") scores_.push_back(value);
  metrics.add("time/step_total", watch.seconds());
  add_system_metrics(step, watch.seconds(), ranks_.size(), metrics);
  const bool is_last = step == config_.max_steps;
  if (config_.eval_steps > 0 && !validation_rows_.empty() && (is_last || step % config_.eval_steps == 0))
    metrics.merge(validate(step));
  if (tracker_ && (is_last || step % config_.logging_steps == 0)) tracker_->write(step, metrics.values());
  if (is_last || (config_.save_steps > 0 && step % config_.save_steps == 0)) save(step);
  if (stop_agreed(ranks_)) throw_if_stopped();
}

Metrics RlvrPipeline::State::train_step(int64_t step) {
  Metrics metrics;
  const std::vector<RolloutRecord> records = records_of(step, metrics);
  Experience experience = experience_from(records);
  run_forwards(experience, config_, roles_, needs_, mesh_of_, log_, metrics);
  add_sampler_gap(experience, records, metrics);
  const int64_t num_groups = static_cast<int64_t>(records.size()) / config_.num_return_sequences_in_group;
  Stopwatch watch;
  metrics.merge(complete_experience(experience, config_.experience, num_groups, experience_state_, {}));
  metrics.add("time/advantages", watch.restart());
  if (config_.dump_experience && ranks_.is_first()) dump_experience(folder_.experience(), step, records, experience);
  const bool dumps_updates = config_.dump_experience && step == 1;
  FirstUpdates first;
  if (critic_) metrics.merge(critic_->train(experience, num_groups, step, dumps_updates ? &first : nullptr));
  if (step > config_.critic_warmup)
    metrics.merge(actor_.train(experience, num_groups, step, dumps_updates ? &first : nullptr));
  if (dumps_updates && ranks_.is_first()) {
    write_safetensors(numbered(folder_.experience(), "gradients_", step, ".safetensors"), first.gradients);
    write_file_atomic(numbered(folder_.experience(), "trace_", step, ".json"), chrome_trace(first.traces).dump());
  }
  const double train_s = watch.seconds();
  // Again every step: beside other work, one measurement may be far below what the device can do.
  matmul_peak_ = std::max(matmul_peak_, measure_matmul_peak(options_.device, roles_.actor.dtype()));
  metrics.add("time/step_train", train_s);
  metrics.add("perf/mfu",
              step_flops(experience, step > config_.critic_warmup) / (train_s * ranks_.size() * matmul_peak_));
  add_token_counts(experience, metrics);
  add_traffic_metrics(ranks_.traffic(), metrics);
  return metrics;
}

std::vector<RolloutRecord> RlvrPipeline::State::records_of(int64_t step, Metrics& metrics) {
  if (config_.rollout_replay) return read_replay(*config_.rollout_replay, step, config_.num_return_sequences_in_group);
  auto records = sample(step, metrics);
  const std::filesystem::path folder = config_.rollout_dump_dir.value_or(folder_.rollouts().string());
  if (ranks_.is_first()) {
    make_folder(folder);
    write_file_atomic(numbered(folder, "step_", step, ".jsonl"), to_lines(records));
  }
  return records;
}

std::vector<RolloutRecord> RlvrPipeline::State::sample(int64_t step, Metrics& metrics) {
  constexpr int kMaxRounds = 20;
  const int64_t group_size = config_.num_return_sequences_in_group;
  std::vector<RolloutRecord> kept;
  CollectTimes total;
  int64_t first_group = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    const int64_t missing = config_.rollout_batch_size - static_cast<int64_t>(kept.size()) / group_size;
    if (missing == 0) break;
    CollectTimes times;
    const CollectRequest request{
        .rows = prompts_->next(missing),
        .num_samples = group_size,
        .step = step,
        .first_group = first_group,
        .sampling = sampling_of(config_, config_.actor_infer.generating_args, tokenizer_, Purpose::kSample, step),
        .phase = fmt::format("step {}: generate", step)};
    const auto useful = keep_useful_groups(collect(request, &times), group_size, config_.rewards);
    kept.insert(kept.end(), useful.begin(), useful.end());
    first_group += missing;
    total.generate_s += times.generate_s;
    total.rewards_s += times.rewards_s;
  }
  if (static_cast<int64_t>(kept.size()) < config_.sequences_per_step())
    throw user_error("step {}: query_filter_config kept {} of {} groups after {} rounds; loosen its thresholds", step,
                     kept.size() / static_cast<size_t>(group_size), config_.rollout_batch_size, kMaxRounds);
  for (size_t i = 0; i < kept.size(); ++i) kept[i].group_index = static_cast<int64_t>(i) / group_size;
  metrics.add("time/step_generate", total.generate_s);
  metrics.add("time/step_rewards", total.rewards_s);
  metrics.add("rollout/groups_sampled", static_cast<double>(first_group));
  return kept;
}

std::vector<RolloutRecord> RlvrPipeline::State::collect(CollectRequest request, CollectTimes* times) {
  const bool offloads = config_.offload && options_.device.is_cuda();
  update_sampler();
  ranks_.traffic().set_phase("generate");
  if (offloads) put_training_away();
  const double share = config_.actor_infer.strategy_args.strategy_config.kv_cache_share();
  request.sampling.kv_cache_bytes = mesh_of_.sampler.tp().all_reduce_min(
      static_cast<int64_t>(share * static_cast<double>(free_device_bytes(options_.device))), "KV cache");
  auto records = collector_.collect(sampler_ ? *sampler_ : roles_.actor, tokenizer_, request, times);
  if (offloads) bring_training_back();
  return records;
}

void RlvrPipeline::State::update_sampler() {
  if (!sampler_) return;
  ranks_.traffic().set_phase("model_update");
  reshard(roles_.actor, *sampler_);
}

void RlvrPipeline::State::put_training_away() {
  actor_.put_away();
  if (critic_) critic_->put_away();
  if (roles_.reference) move_parameters(roles_.reference->parameters(), at::kCPU);
}

void RlvrPipeline::State::bring_training_back() {
  actor_.bring_back();
  if (critic_) critic_->bring_back();
  if (roles_.reference) move_parameters(roles_.reference->parameters(), options_.device);
}

double RlvrPipeline::State::step_flops(const Experience& step, bool trains_actor) const {
  double flops = trains_actor ? training_flops(step, roles_.actor.spec(), /*with_lm_head=*/true) : 0;
  if (roles_.critic) flops += training_flops(step, roles_.critic->spec(), /*with_lm_head=*/false);
  return flops * static_cast<double>(config_.ppo_epochs);
}

Metrics RlvrPipeline::State::validate(int64_t step) {
  Stopwatch watch;
  const auto& generating = config_.validation.generating_args;
  CollectRequest request{.rows = {},
                         .num_samples = generating.num_return_sequences.value_or(1),
                         .step = step,
                         .first_group = 0,
                         .sampling = sampling_of(config_, generating, tokenizer_, Purpose::kValidate, step),
                         .phase = fmt::format("step {}: validate", step)};
  for (const Row& row : validation_rows_) request.rows.push_back(&row);
  const auto records = collect(request, nullptr);
  if (ranks_.is_first()) {
    make_folder(folder_.rollouts());
    write_file_atomic(numbered(folder_.rollouts(), "val_", step, ".jsonl"), to_lines(records));
  }
  Metrics metrics;
  for (const auto& record : records) {
    metrics.add("val_correct/all/mean", record.reward);
    if (!record.tag.empty()) metrics.add(fmt::format("val_correct/{}/mean", record.tag), record.reward);
    metrics.add("val_response_length/mean", static_cast<double>(record.response_ids.size()));
  }
  metrics.add("time/validate", watch.seconds());
  for (const auto& [name, value] : metrics.values())
    if (name == "val_correct/all/mean") accuracies_.push_back(value);
  log_.info("validation after step {}: mean score {:.4f} over {} responses", step, accuracies_.back(), records.size());
  return metrics;
}

void RlvrPipeline::State::save(int64_t step) {
  ranks_.traffic().set_phase("checkpoint");
  const NamedTensors actor = gather_on_first(roles_.actor, mesh_of_.actor);
  const NamedTensors critic = roles_.critic ? gather_on_first(*roles_.critic, mesh_of_.critic) : NamedTensors();
  if (ranks_.is_first())
    folder_.save_checkpoint(step, config_.max_ckpt_to_keep, [&](const std::filesystem::path& folder) {
      make_folder(folder / "actor");
      roles_.actor.write_files(folder / "actor", actor);
      if (!roles_.critic) return;
      make_folder(folder / "critic");
      roles_.critic->write_files(folder / "critic", critic);
    });
  ranks_.barrier("checkpoint");
}

void RlvrPipeline::State::finish() {
  if (!ranks_.is_first()) return;
  if (scores_.size() > 1) log_.info("training score by step:\n{}", plot_curve(scores_, 60, 8));
  if (accuracies_.size() > 1) {
    log_.info("validation score before: {:.4f}, after: {:.4f}", accuracies_.front(), accuracies_.back());
  }
  log_.info("run folder: {}", std::filesystem::absolute(folder_.path()).lexically_normal().string());
}

RlvrPipeline::RlvrPipeline(const Config& config, RlvrOptions options, Communicator& ranks, Log& log)
    : state_(std::make_unique<State>(config, std::move(options), ranks, log)) {}

RlvrPipeline::~RlvrPipeline() = default;

void RlvrPipeline::run() {
  state_->run();
}

}  // namespace roll
