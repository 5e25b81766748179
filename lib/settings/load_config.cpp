#include "settings/load_config.h"

#include "base/file.h"
#include "base/ranges.h"
#include "checkpoint/hub_cache.h"
#include "config/load.h"
#include "config/writer.h"
#include "job/hosts.h"
#include "loss/aggregate.h"
#include "model/known_shapes.h"
#include "model/model_folder.h"
#include "model/value_model.h"
#include "model/weights.h"
#include "optim/flat_layout.h"
#include "settings/agentic.h"
#include "settings/batch_plan.h"
#include "settings/checks.h"
#include "settings/choose_recomputation.h"
#include "settings/complete.h"
#include "settings/describe_algorithm.h"
#include "settings/describe_loss.h"
#include "settings/distillation.h"
#include "settings/foreign_words.h"
#include "settings/judging_models.h"
#include "settings/placement.h"
#include "settings/step_cost.h"

namespace roll {

namespace {

/// The hosts of the flag or the key; none when there is no hostfile, or it plays no part.
template <class T>
std::vector<Host> hosts_of(const CheckedConfig<T>& result, const LoadOptions& options, Checker& check) {
  std::vector<Host> hosts;
  if (result.hostfile.empty() || (options.offline && !is_there(result.hostfile))) return hosts;
  if (options.hostfile && !is_there(result.hostfile))
    throw user_error("--hostfile = {}: no such file; give the path of a hostfile", result.hostfile);
  if (options.hostfile) return read_hostfile(result.hostfile);
  check.collect(result.config.hostfile, [&] { hosts = read_hostfile(result.hostfile); });
  return hosts;
}

/// The number of ranks, which must fit the devices that roles name (`mapping`: a key that names some) and the hosts.
template <class T>
void count_ranks(CheckedConfig<T>& result, int64_t num_devices, const std::optional<DeviceMapping>& mapping,
                 const LoadOptions& options, Checker& check) {
  if (!options.is_started) result.hostfile = options.hostfile.value_or(result.config.hostfile.value_or(""));
  const std::vector<Host> hosts = hosts_of(result, options, check);
  const int64_t slots = hosts.empty() ? 1 : num_slots(hosts);
  result.num_ranks = options.num_ranks.value_or(num_devices > 0 ? num_devices : slots);
  check.require(num_devices == 0 || num_devices == result.num_ranks, mapping,
                "the roles name {} {}, but -n asks for {}; make them equal", num_devices,
                num_devices == 1 ? "device" : "devices", result.num_ranks);
  if (hosts.empty() || result.num_ranks <= slots) return;
  if (options.num_ranks)
    throw user_error("{}: {} slots, but -n asks for {} ranks; ask for fewer, or add hosts", result.hostfile, slots,
                     result.num_ranks);
  throw user_error("{}: {} slots, but the roles' device_mapping names {} devices; name fewer, or add hosts",
                   result.hostfile, slots, result.num_ranks);
}

/// Some role's.
const std::optional<DeviceMapping>& any_mapping(const std::vector<PlacedRole>& roles) {
  const auto named =
      std::ranges::find_if(roles, [](const auto& role) { return role.worker->device_mapping.has_value(); });
  return (named == roles.end() ? roles.front() : *named).worker->device_mapping;
}

void place(CheckedConfig<Config>& result, const LoadOptions& options, Checker& check) {
  const auto roles = placed_roles(result.config);
  const auto num_devices = std::ssize(devices_of(roles));
  count_ranks(result, num_devices, any_mapping(roles), options, check);
  place_roles(result.config, num_devices > 0 ? num_devices : result.num_ranks);
}

void place(CheckedConfig<SftConfig>& result, const LoadOptions& options, Checker& check) {
  WorkerConfig& worker = result.config.sft_train;
  const auto& mapping = worker.device_mapping;
  const int64_t num_devices = mapping ? std::ssize(mapping->devices) : 0;
  count_ranks(result, num_devices, mapping, options, check);
  worker.ranks = all_ranks(num_devices > 0 ? num_devices : result.num_ranks);
}

void place(CheckedConfig<DpoConfig>& result, const LoadOptions& options, Checker& check) {
  WorkerConfig &actor = result.config.sft_train, &reference = result.config.reference;
  check.require(!reference.device_mapping || reference.device_mapping == actor.device_mapping, reference.device_mapping,
                "must be that of actor_train: each rank computes log-probs of the pairs that it trains on");
  const std::vector<PlacedRole> roles{{"actor_train", &actor}, {"reference", &reference}};
  const auto num_devices = std::ssize(devices_of(roles));
  count_ranks(result, num_devices, any_mapping(roles), options, check);
  place_roles(roles, num_devices > 0 ? num_devices : result.num_ranks);
}

using ModelName = std::optional<std::string>;

/// The key that somebody wrote: a role's own, or the one that it was filled from.
const ModelName& written(const ModelName& own, const ModelName& source, const Checker& check) {
  return check.is_set(own) || !source ? own : source;
}

/// config.json of a role's model; nullopt when the folder is absent and that is accepted. `key`: what is complained of.
/// Unless `offline`, the folder must hold what `use` needs.
std::optional<ModelSpec> spec_of(const ModelName& name, const ModelName& key, FolderUse use, bool offline,
                                 Checker& check) {
  std::optional<ModelSpec> spec;
  if (!name) return spec;
  const auto folder = find_model_folder(*name);
  if (!folder && !offline) check.require(false, key, "{}", missing_model(*name));
  if (folder && is_folder(*name) && *folder != *name)
    check.note(fmt::format("{}: a run's folder; its model is {}", check.name(key), folder->string()));
  if (folder)
    check.collect(key, [&] {
      spec = read_spec(*folder);
      if (!offline) check_folder(*folder, *spec, use);
    });
  return spec;
}

/// What the models' memory is reckoned with: of one that is not here, the shape of a well-known one of its name.
std::optional<ModelSpec> planned_spec(const std::optional<ModelSpec>& spec, const std::optional<std::string>& name) {
  const KnownShape* known = spec || !name ? nullptr : find_known_shape(*name);
  return known ? known->spec : spec;
}

/// With the adapters that the worker trains, if it does. `spec`: null, the model is not known.
std::optional<ModelSpec> trained_spec(std::optional<ModelSpec> spec, const WorkerConfig& worker, Checker& check) {
  const ModelArgs& args = worker.model_args;
  const auto adapt = [&] { spec = with_adapters(*spec, lora_of(args, 0), args.model_name_or_path.value()); };
  if (spec && args.lora_target.empty()) check.collect_named(args.lora_rank, adapt);
  if (spec && !args.lora_target.empty()) check.collect_named(args.lora_target, adapt);
  check.require(!spec || !spec->quantised || spec->lora, args.model_name_or_path,
                "its weights are quantised (quantization_config), so that only adapters can be trained beside them; "
                "give lora_rank, or the model that was not quantised");
  return spec;
}

/// Behind its last position a model has learnt nothing, and rotary embeddings do not say so.
template <class M>
void check_length(const M& member, int64_t length, const std::optional<ModelSpec>& spec, const std::string& role,
                  Checker& check) {
  if (spec)
    check.require(length <= spec->max_positions, member,
                  "{} tokens are more than the {} positions of the model of {} (max_position_embeddings in its "
                  "config.json); lower it, or take a model of longer texts",
                  length, spec->max_positions, role);
}

/// Told at the keys that somebody set.
void check_lengths(const Config& config, const std::optional<ModelSpec>& spec, const std::string& role,
                   Checker& check) {
  if (!config.sequence_length || !config.val_sequence_length) return;
  const int64_t length = *config.sequence_length, val_length = *config.val_sequence_length;
  if (check.is_set(config.sequence_length))
    check_length(config.sequence_length, length, spec, role, check);
  else
    check_length(config.response_length, length, spec, role, check);
  if (val_length != length && role == "actor_train")
    check_length(config.val_sequence_length, val_length, spec, role, check);
}

/// A line for each class of ranks.
std::string memory_of(const Config& config, const PlannedModels& models) {
  const bool on_gpu = config.actor_train.device_mapping.has_value();
  const auto classes = rank_classes(config);
  std::vector<std::string> lines;
  for (const auto& [ranks, roles] : classes) {
    const std::string whose = classes.size() == 1 ? "a rank" : fmt::format("each of the ranks {}", ranges_text(ranks));
    lines.push_back(fmt::format("memory of {} ({}), about: {}", whose, on_gpu ? "GPU" : "CPU",
                                memory_text(estimate_memory(config, models, on_gpu, ranks.front()))));
  }
  std::ranges::move(recomputation_text(config, models, on_gpu), std::back_inserter(lines));
  if (const int first = config.actor_train.ranks.front(); !on_gpu || can_run_on_cpu(config))
    lines.push_back(fmt::format("computed on the CPU, rank {} takes about {:.3g} GB of memory in all", first,
                                estimate_memory(config, models, /*on_gpu=*/false, first).on_cpu() / 1e9));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Of the reference or the teachers, in the order of reference_roles(config).
template <class SpecOfRole>
std::vector<std::optional<ModelSpec>> check_references(const Config& config, const std::optional<ModelSpec>& policy,
                                                       const SpecOfRole& spec_of_role, bool offline, Checker& check) {
  const auto& policy_name = config.actor_train.model_args.model_name_or_path;
  std::vector<std::optional<ModelSpec>> specs;
  for (const auto& [role, worker] : reference_roles(config)) {
    const auto& name = worker->model_args.model_name_or_path;
    const auto& spec = specs.emplace_back(spec_of_role(*worker, policy_name, FolderUse::kForwards));
    if (spec) check_model_layout(worker->strategy_args, *spec, check);
    if (name == policy_name) continue;
    check_lengths(config, spec, role, check);
    if (!config.distils() || !spec || !policy) continue;
    check.require(spec->vocab_size >= policy->vocab_size, name,
                  "its vocab_size is {}, and the policy's {}: a teacher must know all tokens that the policy may write",
                  spec->vocab_size, policy->vocab_size);
    if (!offline) check.collect(name, [&] { check_same_tokens(model_folder(*policy_name), model_folder(*name)); });
  }
  return specs;
}

/// A line for each role that trains adapters.
std::string adapters_text(const PlannedModels& models) {
  const auto text = [](const char* role, const ModelSpec& spec, const auto& parameters_of) {
    if (!spec.lora) return std::string();
    double all = 0, trained = 0;
    for (const ParameterShape& parameter : parameters_of(spec))
      (parameter.is_adapter ? trained : all) += static_cast<double>(flat_shard(parameter, 0, 1).numel);
    return fmt::format("{} trains {}: {:.2f} M of {:.1f} M parameters\n", role, describe(*spec.lora), trained / 1e6,
                       all / 1e6);
  };
  std::string lines = text("actor_train", models.policy, policy_parameters);
  if (models.critic) lines += text("critic", *models.critic, critic_parameters);
  return lines;
}

constexpr const char* kUnknownMemory = "memory of a rank: unknown, the model is not here and its name is not known";

std::string check_models(const Config& config, bool offline, std::optional<PlannedModels>& known, Checker& check) {
  const auto& policy_name = config.actor_train.model_args.model_name_or_path;
  const auto policy =
      spec_of(policy_name, written(policy_name, config.pretrain, check), FolderUse::kWrites, offline, check);
  // Of several notes on keys of one name only the first is shown.
  const auto spec_of_role = [&](const WorkerConfig& worker, const ModelName& source, FolderUse use) {
    const auto& name = worker.model_args.model_name_or_path;
    return name == policy_name ? policy : spec_of(name, written(name, source, check), use, offline, check);
  };
  std::optional<ModelSpec> critic;
  if (config.uses_critic()) critic = spec_of_role(config.critic, config.reward_pretrain, FolderUse::kGivesValues);
  PlannedModels models;
  for (const JudgingModel& judge : judging_models(config)) {
    const auto& name = judge.worker->model_args.model_name_or_path;
    const auto& key = written(name, config.reward_pretrain, check);
    const auto spec = spec_of(name, key, judge.writes() ? FolderUse::kWrites : FolderUse::kReads, offline, check);
    if (spec) check_model_layout(judge.worker->strategy_args, *spec, check);
    if (spec && !judge.writes() && !offline) check.collect(key, [&] { require_value_head(model_folder(*name)); });
    models.judges.push_back(spec);
  }
  if (policy) check_model_layout(config.actor_train.strategy_args, *policy, check);
  if (policy) check_model_layout(config.actor_infer.strategy_args, *policy, check);
  if (critic) check_model_layout(config.critic.strategy_args, *critic, check);
  if (policy) check_routing(config, *policy, check);
  check_lengths(config, policy, "actor_train", check);
  if (config.critic.model_args.model_name_or_path != policy_name) check_lengths(config, critic, "critic", check);
  const auto references = check_references(config, policy, spec_of_role, offline, check);
  const auto planned_policy = trained_spec(planned_spec(policy, policy_name), config.actor_train, check);
  models.critic = trained_spec(planned_spec(critic, config.critic.model_args.model_name_or_path), config.critic, check);
  if (!planned_policy || !check.is_clean()) return kUnknownMemory;
  models.policy = *planned_policy;
  if (models.policy.quantised)  // which ranks share in blocks
    for (const WorkerConfig* worker : {&config.actor_train, &config.actor_infer})
      check_model_layout(worker->strategy_args, models.policy, check);
  const auto roles = reference_roles(config);
  for (size_t i = 0; i < roles.size(); ++i)
    models.references.push_back(planned_spec(references[i], roles[i].worker->model_args.model_name_or_path));
  known = models;
  return fmt::format("{}{}\n{}{}", config.trains() ? adapters_text(models) : "", memory_of(config, models),
                     cost_text(step_cost(config, models)),
                     policy ? "" : "\nthe policy is not here: its shape is taken from its name");
}

/// Of a role that learns from rows, or helps to.
std::optional<ModelSpec> check_model(const SftConfig& config, const WorkerConfig& worker, FolderUse use, bool offline,
                                     Checker& check) {
  const auto& name = worker.model_args.model_name_or_path;
  const auto spec = spec_of(name, written(name, config.pretrain, check), use, offline, check);
  check_length(config.sequence_length, config.sequence_length, spec, check.key(worker), check);
  if (spec) check_model_layout(worker.strategy_args, *spec, check);
  return trained_spec(spec, worker, check);
}

/// Loads, then gives the configuration, its places and the collector to `body`, which checks and completes.
template <class T, class F>
CheckedConfig<T> load_checked(const std::string& yaml, const std::string& origin,
                              const std::vector<std::string>& overrides, F&& body) {
  auto loaded = load_yaml<T>(yaml, origin, overrides, foreign_advice<T>);
  CheckedConfig<T> result;
  result.config = std::move(loaded.config);
  result.config.from_env = std::move(loaded.from_env);
  result.notes = std::move(loaded.notes);
  const KeyIndex keys(result.config, std::move(loaded.set), loaded.origin);
  Checker check(keys, result.notes);
  complete(result.config, check);
  if constexpr (!std::is_same_v<T, DpoConfig>) check_loss(result.config.loss, masks_of(result.config), check);
  body(result, check);
  check.throw_if_any();
  result.config.loss.loss_agg_mode = loss_modes(result.config.loss).policy;
  return result;
}

}  // namespace

CheckedConfig<Config> load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                  const LoadOptions& options) {
  return load_config_text(read_file(file), file.string(), overrides, options);
}

CheckedConfig<Config> load_config_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options) {
  const auto body = [&](CheckedConfig<Config>& result, Checker& check) {
    const Config& config = result.config;
    place(result, options, check), complete_copied_batches(result.config, check);
    note_idle_keys(config, check);
    check_filters(config, check);
    if (config.trains()) check_training(config, options.offline, check);
    check_layout(config, check);
    check_dtypes(config, check);
    note_sampling(config, check);
    check_agentic(config, options.offline, check);
    check_batches(config, check);
    check_data(config, options.offline, check);
    result.memory = check_models(config, options.offline, result.models, check);
    if (!check.is_clean()) return;
    result.plan = placement_text(config) + batch_plan(config);
    if (!config.trains()) return;
    result.loss = describe_loss(config);
    result.algorithm = describe_algorithm(config);
  };
  return load_checked<Config>(yaml, origin, overrides, body);
}

CheckedConfig<SftConfig> load_sft_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options) {
  const auto body = [&](CheckedConfig<SftConfig>& result, Checker& check) {
    const SftConfig& config = result.config;
    place(result, options, check);
    check_layout(config.sft_train, check);
    check_adapters(config.sft_train, check);
    check_sft_batch(config.sft_train, check);
    check_dtype(config.sft_train.model_args, config.sft_train.device_mapping.has_value(), check);
    const LongestSequence longest{config.sequence_length, check.name(config.sequence_length)};
    check_packing(config.sft_train, longest, /*trains=*/true, /*forwards=*/false, check);
    check_data(config, options.offline, check);
    check_plugins(config.sft_train, options.offline, check);
    const auto policy = check_model(config, config.sft_train, FolderUse::kWrites, options.offline, check);
    if (policy) result.models = PlannedModels{.policy = *policy, .critic = {}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<SftConfig>(read_file(file), file.string(), overrides, body);
}

CheckedConfig<DpoConfig> load_dpo_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options) {
  const auto body = [&](CheckedConfig<DpoConfig>& result, Checker& check) {
    const DpoConfig& config = result.config;
    place(result, options, check);
    check_layout(config.sft_train, check);
    check_forward_layout(config.reference, check);
    check_adapters(config.sft_train, check);
    check_no_adapters(config.reference, check);
    check_sft_batch(config.sft_train, check);
    check.require(!config.ipo || config.label_smoothing == 0, config.label_smoothing,
                  "is of DPO's loss, and {}; remove one of the two", check.name(config.ipo));
    check.require(!config.sft_train.loss_func, config.sft_train.loss_func.library,
                  "roll dpo has a loss of its own; remove it");
    for (const WorkerConfig* worker : {&config.sft_train, &config.reference})
      check_dtype(worker->model_args, worker->device_mapping.has_value(), check);
    const LongestSequence longest{config.sequence_length, check.name(config.sequence_length)};
    const LongestSequence pair{2 * config.sequence_length, "two responses of " + check.name(config.sequence_length)};
    check_packing(config.sft_train, pair, /*trains=*/true, /*forwards=*/true, check);
    check_packing(config.reference, longest, /*trains=*/false, /*forwards=*/true, check);
    check_data(config, options.offline, check);
    const auto policy = check_model(config, config.sft_train, FolderUse::kWrites, options.offline, check);
    const auto reference = check_model(config, config.reference, FolderUse::kForwards, options.offline, check);
    if (policy && reference)
      check.require(policy->vocab_size <= reference->vocab_size, config.reference.model_args.model_name_or_path,
                    "its vocab_size is {}, and the policy's {}", reference->vocab_size, policy->vocab_size);
    if (policy && reference) result.models = PlannedModels{.policy = *policy, .critic = {}, .references = {reference}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<DpoConfig>(read_file(file), file.string(), overrides, body);
}

std::string command_of(const std::filesystem::path& file) {
  std::vector<std::string> notes;
  const Node tree = read_tree(read_file(file), file.string(), {}, notes);
  if (tree.kind != Node::Kind::kMap) return "train";
  DpoConfig dpo;
  SftConfig sft;
  const KeyIndex of_dpo(dpo, {}, ""), of_sft(sft, {}, "");
  const auto has = [&](const KeyIndex& keys, const auto& member) { return tree.find(keys.path(member)) != nullptr; };
  if (has(of_sft, sft.sft_train)) return "sft";
  const bool names_pairs = has(of_dpo, dpo.beta) || has(of_dpo, dpo.ipo) || has(of_dpo, dpo.label_smoothing) ||
                           has(of_dpo, dpo.chosen_key) || has(of_dpo, dpo.rejected_key);
  return names_pairs && !tree.find("rewards") ? "dpo" : "train";
}

std::string resolved_yaml(const Config& config) {
  return to_yaml(config, config.from_env);
}
std::string resolved_yaml(const SftConfig& config) {
  return to_yaml(config, config.from_env);
}
std::string resolved_yaml(const DpoConfig& config) {
  return to_yaml(config, config.from_env);
}

}  // namespace roll
