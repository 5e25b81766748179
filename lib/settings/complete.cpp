#include "settings/complete.h"

#include <algorithm>

#include "loss/aggregate.h"
#include "settings/agentic.h"
#include "settings/checks.h"
#include "settings/distillation.h"
#include "settings/judging_models.h"
#include "settings/rollout_only.h"
#include "settings/training_plan.h"

namespace roll {

namespace {

void require_room(bool has_room, const std::optional<int64_t>& sequence, const auto& prompt, Checker& check) {
  check.require(has_room, sequence, "leaves no room for a response after {}; raise it, or lower {}", check.name(prompt),
                check.key(prompt));
}

void complete_lengths(Config& config, Checker& check) {
  auto& response = config.response_length;
  auto& sequence = config.sequence_length;
  if (!check.require(response || sequence, response, "set this key, or {}", check.key(sequence))) return;
  if (!sequence) sequence = config.prompt_length + *response;
  if (!response) response = *sequence - config.prompt_length;
  require_room(*response >= 1, sequence, config.prompt_length, check);
  check.require(config.prompt_length + *response == *sequence, sequence, "is not {} + {}; keep one of {} and {}",
                check.name(config.prompt_length), check.name(response), check.key(response), check.key(sequence));
}

void complete_validation_lengths(Config& config, Checker& check) {
  auto& prompt = config.val_prompt_length;
  auto& sequence = config.val_sequence_length;
  check.require(!sequence || prompt, sequence, "needs {} as well", check.key(prompt));
  check.require(!prompt || sequence, prompt, "needs {} as well", check.key(sequence));
  if (!prompt) prompt = config.prompt_length;
  if (!sequence) sequence = config.sequence_length;
  // An inherited value is checked at the key that it comes from.
  if (sequence && check.is_set(sequence)) require_room(*sequence > *prompt, sequence, prompt, check);
}

void complete_sampling(std::optional<int64_t>& max_new_tokens, int64_t room, const std::string& room_name,
                       Checker& check) {
  if (!max_new_tokens) max_new_tokens = room;
  check.require(*max_new_tokens <= room, max_new_tokens, "is more than {} allows; lower one or raise the other",
                room_name);
}

void check_stop_strings(const GeneratingArgs& args, Checker& check) {
  check.require(std::ranges::find(args.stop_strings, "") == args.stop_strings.end(), args.stop_strings,
                "an empty stop string would end every response; remove it");
}

void complete_generating(Config& config, Checker& check) {
  if (!config.response_length || !config.val_sequence_length) return;
  GeneratingArgs& infer = config.actor_infer.generating_args;
  complete_sampling(infer.max_new_tokens, *config.response_length, check.name(config.response_length), check);
  GeneratingArgs& validation = config.validation.generating_args;
  complete_sampling(validation.max_new_tokens, *config.val_sequence_length - *config.val_prompt_length,
                    check.name(config.val_sequence_length), check);
  constexpr const char* kGreedy =
      "a greedy policy always gives the same response, so there is nothing to compare; only the validation may be "
      "greedy";
  check.require(infer.do_sample.value_or(true), infer.do_sample, "must be true: {}", kGreedy);
  check.require(infer.temperature > 0 || !infer.do_sample.value_or(true), infer.temperature,
                "must be above 0, usually 1: {}", kGreedy);
  check.require(infer.top_k != 1, infer.top_k, "must not be 1: {}", kGreedy);
  auto& responses = infer.num_return_sequences;
  if (!responses) responses = config.num_return_sequences_in_group;
  check.require(*responses == config.num_return_sequences_in_group, responses, "must equal {}",
                check.name(config.num_return_sequences_in_group));
  if (!validation.num_return_sequences) validation.num_return_sequences = 1;
  for (const GeneratingArgs* args : {&infer, &validation}) check_stop_strings(*args, check);
}

/// Fills unset sampling keys of validation sets from the validation.
void complete_sets(Config& config, Checker& check) {
  if (!config.response_length || !config.val_sequence_length) return;
  const int64_t room = *config.val_sequence_length - *config.val_prompt_length;
  for (auto& [name, set] : config.validation.sets) {
    GeneratingArgs& args = set.generating_args;
    const auto inherit = [&](auto... member) {
      ((check.is_set(args.*member) ? void() : void(args.*member = config.validation.generating_args.*member)), ...);
    };
    using G = GeneratingArgs;
    inherit(&G::max_new_tokens, &G::temperature, &G::top_p, &G::top_k, &G::min_p, &G::repetition_penalty,
            &G::presence_penalty, &G::frequency_penalty, &G::stop_strings, &G::include_stop_str_in_output,
            &G::skip_special_tokens, &G::num_return_sequences, &G::do_sample);
    complete_sampling(args.max_new_tokens, room, check.name(config.val_sequence_length), check);
    check_stop_strings(args, check);
  }
}

/// Notes that max_model_len is ignored if it is shorter than sequence_length.
void note_model_length(const Config& config, Checker& check) {
  const auto& length = config.actor_infer.strategy_args.strategy_config.max_model_len;
  if (length && config.sequence_length && *length < *config.sequence_length)
    check.note(fmt::format("{}: has no effect: sequences may be longer, up to {}", check.name(length),
                           check.name(config.sequence_length)));
}

/// Fills the chat template; global_template wins, as in ROLL.
void complete_template(DataArgs& data, const std::optional<std::string>& global) {
  if (global) data.template_name = global;
  if (!data.template_name) data.template_name = "native";
}

/// Fills unset columns of the validation from training, because its rows usually have the same form.
void complete_data(DataArgs& training, DataArgs& validation, const std::optional<std::string>& global_template) {
  if (!validation.names_prompt()) {
    validation.messages = training.messages;
    validation.question = training.question;
    validation.query = training.query;
    validation.prompt = training.prompt;
    validation.response = training.response;
    if (!validation.ground_truth) {
      validation.ground_truth = training.ground_truth;
      validation.ground_truth_part = training.ground_truth_part;
    }
    if (!validation.tag) validation.tag = training.tag;
    if (!validation.domain) validation.domain = training.domain;
  }
  if (!validation.template_name) validation.template_name = training.template_name;
  if (!validation.enable_thinking) validation.enable_thinking = training.enable_thinking;
  complete_template(training, global_template);
  complete_template(validation, global_template);
}

void complete_models(Config& config, Checker& check) {
  auto& policy = config.actor_train.model_args.model_name_or_path;
  if (!policy) policy = config.pretrain;
  check.require(policy.has_value(), config.pretrain, "set it to the model's folder or Hub name");
  auto& sampler = config.actor_infer.model_args.model_name_or_path;
  if (!sampler) sampler = policy;
  check.require(sampler == policy, sampler, "the sampler must use the model of the trainer, but {}",
                check.name(policy));
  auto& reference = config.reference.model_args.model_name_or_path;
  if (!reference) reference = policy;
  auto& critic = config.critic.model_args.model_name_or_path;
  if (!critic) critic = config.reward_pretrain ? config.reward_pretrain : policy;
  complete_judging_models(config);
  for (const JudgingModel& judge : judging_models(config))
    check.require(judge.worker->model_args.model_name_or_path.has_value(), judge.worker->model_args.model_name_or_path,
                  "set it to the judging model's folder or Hub name");
}

/// Enables importance weights for a sampler with rounded weights, whose probabilities differ from the trainer's.
void complete_sampler_dtype(Config& config, Checker& check) {
  auto& is_enabled = config.experience.train_infer_correction.is_weight.enabled;
  if (config.actor_infer.model_args.weight_bits() == 0 || !config.trains() || check.is_set(is_enabled)) return;
  is_enabled = true;
  check.note(fmt::format("{}: tokens are sampled with rounded weights, so {} = true by default",
                         check.name(config.actor_infer.model_args.dtype), check.key(is_enabled)));
}

void complete_experience_keys(ExperienceConfig& experience, Checker& check) {
  check.require(
      !experience.adv_estimator->whitens || experience.whiten_advantages || !check.is_set(experience.whiten_advantages),
      experience.whiten_advantages, "{} whitens advantages; remove this, or choose another estimator",
      check.name(experience.adv_estimator));
  experience.whiten_advantages = experience.whitens();
  const Normalisation normalisation = experience.normalisation();
  experience.norm_mean_type = normalisation.mean;
  experience.norm_std_type = normalisation.deviation;
}

void add_mask(const std::string& mask, std::vector<std::string>& keys) {
  if (std::ranges::find(keys, mask) == keys.end()) keys.push_back(mask);
}

/// Fills the divisor: ROLL divides by the length of its padded rows, without the token that has no label.
void complete_divisor(LossConfig& loss, int64_t sequence_length) {
  if (loss_modes(loss).policy == AggMode::kSeqMeanTokenSumNorm && !loss.loss_aggregation_divisor)
    loss.loss_aggregation_divisor = static_cast<double>(sequence_length - 1);
}

/// rollout_mock is another spelling of rollout_dump_dir and rollout_replay.
void complete_mock(Config& config, Checker& check) {
  if (!config.rollout_mock.enable) return;
  auto& target = config.rollout_mock.mode == MockMode::kReplay ? config.rollout_replay : config.rollout_dump_dir;
  check.require(!target || *target == config.rollout_mock.dump_dir, config.rollout_mock.dump_dir,
                "differs from {}; keep one of the two", check.name(target));
  target = config.rollout_mock.dump_dir;
}

/// Fills routing_replay from router_replay, which actor_train and actor_infer must set alike.
void complete_routing(Config& config, Checker& check) {
  const RouterReplayMode& trainer = config.actor_train.router_replay.mode;
  const RouterReplayMode& sampler = config.actor_infer.router_replay.mode;
  check.require(trainer == sampler, check.is_set(sampler) ? sampler : trainer,
                "must be the same for actor_train and actor_infer, but {}; set both to R3 or neither",
                check.name(check.is_set(sampler) ? trainer : sampler));
  auto& replays = config.routing_replay;
  check.require(!replays || *replays || trainer == RouterReplayMode::kDisable, replays,
                "differs from {}; keep one of the two", check.name(trainer));
  if (!replays) replays = trainer == RouterReplayMode::kR3;
}

void note_strategies(const std::vector<const StrategyArgs*>& strategies, Checker& check) {
  std::vector<std::string_view> names;
  for (const StrategyArgs* strategy : strategies)
    if (check.is_set(strategy->strategy_name) &&
        std::ranges::find(names, enum_name(strategy->strategy_name)) == names.end())
      names.push_back(enum_name(strategy->strategy_name));
  if (!names.empty())
    check.note(fmt::format("{}: {}: all strategies use the built-in back-end", check.key(strategies[0]->strategy_name),
                           fmt::join(names, ", ")));
}

void complete_trackers(TrackConfig& track, Checker& check) {
  std::vector<TrackerKind>& trackers = track.track_with;
  const std::optional<std::string>& uri = track.tracker_kwargs.tracking_uri;
  if (std::ranges::find(trackers, TrackerKind::kMlflow) != trackers.end() && uri)
    check.require(uri->find("://") == std::string::npos, uri,
                  "is the address of a server, but mlflow is written to a folder; give a folder");
  const bool wants_service = std::erase(trackers, TrackerKind::kService) > 0;
  if (wants_service)
    check.note(
        fmt::format("{}: nothing is sent to swanlab; stdout, jsonl and tensorboard have the same metrics, and "
                    "scripts/upload_metrics.py uploads them from the run folder",
                    check.name(track.track_with)));
  if (!wants_service && std::ranges::find(trackers, TrackerKind::kWandb) == trackers.end()) return;
  for (const TrackerKind kind : TrackConfig{}.track_with)
    if (std::ranges::find(trackers, kind) == trackers.end()) trackers.push_back(kind);
}

void split_commas(std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names)
    for (size_t from = 0; from <= name.size();) {
      const size_t comma = std::min(name.find(',', from), name.size());
      const size_t first = std::min(name.find_first_not_of(' ', from), comma);
      if (comma > first) parts.push_back(name.substr(first, comma - first));
      from = comma + 1;
    }
  names = parts;
}

void complete_names(ModelArgs& args) {
  for (auto* names : {&args.freeze_module_prefix, &args.lora_target, &args.additional_target}) split_commas(*names);
}

void complete_additional_prompts(Config& config, Checker& check) {
  const auto& old_key = config.use_additional_prompts;
  auto& new_key = config.is_use_additional_prompts;
  if (!old_key) return;
  check.require(!check.is_set(new_key) || new_key == *old_key, old_key, "is an older name of {}; keep one of the two",
                check.name(new_key));
  new_key = *old_key;
}

/// Fills the sampler's tensor-parallel size from num_gpus_per_worker, as ROLL does under SGLang; not under vLLM.
void complete_engine_ranks(WorkerConfig& sampler) {
  StrategyConfig& layout = sampler.strategy_args.strategy_config;
  if (sampler.strategy_args.strategy_name == Strategy::kSglang && !layout.tensor_model_parallel_size &&
      !layout.tensor_parallel_size)
    layout.tensor_parallel_size = sampler.num_gpus_per_worker;
}

/// Fills a column from its spelling at the top level.
void complete_column(const std::optional<std::string>& top_level_key, std::optional<std::string>& column,
                     Checker& check) {
  if (!top_level_key) return;
  check.require(!column || *column == *top_level_key, top_level_key, "is another spelling of {}; keep one of the two",
                check.name(column));
  column = top_level_key;
}

/// Scales domain shares so that they sum to 1. (ROLL gives the last domain the remainder.)
void complete_shares(DataArgs& data, Checker& check) {
  double sum = 0;
  for (const auto& [domain, share] : data.domain_interleave_probs) sum += share;
  if (sum <= 0 || sum > 1 - 1e-6 || !data.domain_interleave_schedule.empty()) return;
  for (auto& [domain, share] : data.domain_interleave_probs) share /= sum;
  check.note(fmt::format("{}: the shares sum to {:.6g}, and each is divided by this sum",
                         check.key(data.domain_interleave_probs), sum));
}

/// Decides the length of the run; max_steps wins over num_train_epochs, as in transformers.
void complete_length(Config& config, Checker& check) {
  if (config.num_train_epochs && !check.is_set(config.max_steps)) config.max_steps.reset();
  check.require_given(config.max_steps || config.num_train_epochs, config.max_steps,
                      "set a number of steps, or set num_train_epochs");
  if (!config.max_steps || !config.num_train_epochs) return;
  check.note_idle(config.num_train_epochs,
                  fmt::format("{}: {} takes precedence, unless it is null", check.name(config.num_train_epochs),
                              check.name(config.max_steps)));
  config.num_train_epochs.reset();
}

}  // namespace

void complete_judging_models(Config& config) {
  const auto complete_folder = [&](WorkerConfig& worker) {
    auto& folder = worker.model_args.model_name_or_path;
    if (!folder) folder = config.reward_pretrain;
  };
  bool is_shared = false;
  for (auto& [domain, worker] : config.rewards) {
    if (worker.has_own_model()) complete_folder(worker.model);
    is_shared = is_shared || worker.shares_model();
  }
  if (!is_shared) return;
  complete_folder(config.reward_model);
  GeneratingArgs& judge_sampling = config.reward_model.generating_args;
  if (!judge_sampling.max_new_tokens) judge_sampling.max_new_tokens = LlmJudgeArgs().generating_args.max_new_tokens;
}

void complete(Config& config, Checker& check) {
  complete_length(config, check);
  complete_rollout_only(config, check);
  complete_agentic(config, check);
  complete_lengths(config, check);
  complete_validation_lengths(config, check);
  complete_generating(config, check);
  note_model_length(config, check);
  complete_data(config.actor_train.data_args, config.validation.data_args, config.global_template);
  complete_sets(config, check);
  for (auto& [name, set] : config.validation.sets)
    complete_data(config.validation.data_args, set.data_args, config.global_template);
  complete_models(config, check);
  complete_distillation(config, check);
  complete_sampler_dtype(config, check);
  complete_experience_keys(config.experience, check);
  if (config.loss.positive_loss_coef > 0) add_mask("positive_response_mask", config.loss.loss_mask_keys);
  if (config.sequence_length) complete_divisor(config.loss, *config.sequence_length);
  complete_mock(config, check);
  complete_routing(config, check);
  complete_additional_prompts(config, check);
  complete_trackers(config.track, check);
  std::vector<const StrategyArgs*> strategies = {&config.actor_train.strategy_args, &config.actor_infer.strategy_args,
                                                 &config.reference.strategy_args};
  for (const TrainableRole& row : trainable_roles()) strategies.push_back(&(config.*row.worker).strategy_args);
  for (const auto& [name, teacher] : config.teacher) strategies.push_back(&teacher.model.strategy_args);
  for (const JudgingModel& judge : judging_models(config)) strategies.push_back(&judge.worker->strategy_args);
  note_strategies(strategies, check);
  for (const TrainableRole& row : trainable_roles()) {
    WorkerConfig& worker = config.*row.worker;
    complete_ulysses(worker, check), complete_expert_ranks(worker, check), complete_zero(worker, check);
    complete_names(worker.model_args);
  }
  complete_ulysses(config.reference, check), complete_expert_ranks(config.reference, check);
  for (auto& [name, teacher] : config.teacher)
    complete_ulysses(teacher.model, check), complete_expert_ranks(teacher.model, check);
  complete_expert_ranks(config.actor_infer, check);
  complete_engine_ranks(config.actor_infer);
  complete_shares(config.actor_train.data_args, check);
  complete_names(config.actor_infer.model_args);
  place_policy_at_sampler(config, check);
}

void complete(RowConfig& config, Checker& check) {
  auto& model = config.trained.model_args.model_name_or_path;
  if (!model) model = config.pretrain;
  check.require(model.has_value(), config.pretrain, "set it to the model's folder or Hub name");
  auto& epochs = config.trained.training_args.num_train_epochs;
  check.require(!epochs || !check.is_set(config.num_train_epochs) || *epochs == config.num_train_epochs, epochs,
                "differs from {}; keep one of the two", check.name(config.num_train_epochs));
  if (epochs) config.num_train_epochs = *epochs;
  DataArgs& data = config.trained.data_args;
  complete_column(config.prompt_key, data.question, check);
  complete_column(config.query_key, data.query, check);
  complete_column(config.response_key, data.response, check);
  const bool is_at_top = config.query_key.has_value();
  check.require(!data.query || data.question, is_at_top ? config.query_key : data.query,
                "follows a question: name the question's column in {}",
                check.key(is_at_top ? config.prompt_key : data.question));
  complete_data(data, config.validation.data_args, config.global_template);
  complete_divisor(config.loss, config.sequence_length);
  complete_ulysses(config.trained, check);
  complete_zero(config.trained, check);
  complete_expert_ranks(config.trained, check);
  complete_trackers(config.track, check);
  note_strategies({&config.trained.strategy_args}, check);
  complete_names(config.trained.model_args);
}

void complete(DpoConfig& config, Checker& check) {
  complete(static_cast<RowConfig&>(config), check);
  auto& reference = config.reference.model_args.model_name_or_path;
  if (!reference) reference = config.trained.model_args.model_name_or_path;
  for (WorkerConfig* worker : {&config.trained, &config.reference}) complete_ulysses(*worker, check);
}

/// A question without a text before it is the whole prompt, so question_key then fills `question`.
void complete(DistillConfig& config, Checker& check) {
  complete_column(config.student_pretrain, config.pretrain, check);
  DataArgs& rows = config.trained.data_args;
  complete_column(config.question_key, config.prompt_key ? rows.query : rows.question, check);
  complete_column(config.answer_key, rows.response, check);
  complete(static_cast<RowConfig&>(config), check);
  auto& teacher = config.teacher.model_args.model_name_or_path;
  if (!teacher) teacher = config.teacher_pretrain;
  check.require(teacher.has_value(), config.teacher_pretrain, "set it to the teacher's folder or Hub name");
  complete_ulysses(config.teacher, check), complete_expert_ranks(config.teacher, check);
}

}  // namespace roll
