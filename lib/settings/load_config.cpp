#include "settings/load_config.h"

#include "checkpoint/hub_cache.h"
#include "config/writer.h"
#include "model/known_shapes.h"
#include "model/value_model.h"
#include "optim/flat_layout.h"
#include "settings/agentic.h"
#include "settings/batch_plan.h"
#include "settings/choose_recomputation.h"
#include "settings/describe_algorithm.h"
#include "settings/describe_loss.h"
#include "settings/distillation.h"
#include "settings/judging_models.h"
#include "settings/loading.h"
#include "settings/placement.h"
#include "settings/step_cost.h"

namespace roll {

namespace {

void place_run(CheckedConfig<Config>& result, const LoadOptions& options, Checker& check) {
  const auto roles = placed_roles(result.config);
  const auto num_devices = std::ssize(used_devices(roles));
  count_ranks(result, num_devices, any_mapping(roles), options, check);
  place_roles(result.config, num_devices > 0 ? num_devices : result.num_ranks);
}

/// Returns the shape for memory estimates: the model's own, or the well-known one of its name if the model is absent.
std::optional<ModelSpec> planned_spec(const std::optional<ModelSpec>& spec, const std::optional<std::string>& name) {
  const KnownShape* known = spec || !name ? nullptr : find_known_shape(*name);
  return known ? known->spec : spec;
}

/// Checks lengths against the model's positions; complains at the keys that were set.
void check_lengths(const Config& config, const std::optional<ModelSpec>& spec, const std::string& role,
                   Checker& check) {
  if (!config.sequence_length || !config.val_sequence_length) return;
  const int64_t length = *config.sequence_length, val_length = *config.val_sequence_length;
  if (check.is_set(config.sequence_length))
    check_length(config.sequence_length, length, spec, role, check);
  else
    check_length(config.response_length, length, spec, role, check);
  if (val_length != length && role == kPolicyRole)
    check_length(config.val_sequence_length, val_length, spec, role, check);
}

/// Returns the memory estimates, a line per class of ranks.
std::string memory_lines(const Config& config, const RoleShapes& models) {
  const bool on_gpu = config.actor_train.device_mapping.has_value();
  const auto classes = rank_classes(config);
  std::vector<std::string> lines;
  for (const auto& [ranks, roles] : classes) {
    const std::string holders =
        classes.size() == 1 ? "a rank" : fmt::format("each of the ranks {}", ranges_text(ranks));
    lines.push_back(fmt::format("memory of {} ({}), about: {}", holders, on_gpu ? "GPU" : "CPU",
                                memory_text(estimate_memory(config, models, on_gpu, ranks.front()))));
  }
  std::ranges::move(recomputation_text(config, models, on_gpu), std::back_inserter(lines));
  if (const int first = config.actor_train.ranks.front(); !on_gpu || can_run_on_cpu(config))
    lines.push_back(fmt::format("on the CPU, rank {} needs about {:.3g} GB of memory in total", first,
                                estimate_memory(config, models, /*on_gpu=*/false, first).on_cpu() / 1e9));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Checks the reference or the teachers; adds their shapes to `shapes`.
template <class SpecOfRole>
void check_references(const Config& config, const std::optional<ModelSpec>& policy, const SpecOfRole& spec_of_role,
                      bool offline, RoleShapes& shapes, Checker& check) {
  const auto& policy_name = config.actor_train.model_args.model_name_or_path;
  for (const auto& [role, worker] : reference_roles(config)) {
    const auto& name = worker->model_args.model_name_or_path;
    const std::optional<ModelSpec> spec = spec_of_role(*worker, policy_name, FolderUse::kComputesLogProbs);
    if (const auto planned = planned_spec(spec, name)) shapes.emplace(role, *planned);
    if (spec) check_model_layout(worker->strategy_args, *spec, check);
    if (name == policy_name) continue;
    check_lengths(config, spec, role, check);
    if (config.distils() && spec && policy)
      check_teacher({name, *spec}, {policy_name, *policy}, "policy", offline, check);
  }
}

/// Returns a line per role that trains adapters.
std::string adapters_text(const Config& config, const RoleShapes& models) {
  std::string lines;
  for (const auto& [role, worker] : trained_roles(config)) {
    const auto found = models.find(role);
    if (found == models.end() || !found->second.lora) continue;
    const ModelSpec& spec = found->second;
    double all = 0, trained = 0;
    for (const ParameterShape& parameter : role == kCriticRole ? critic_parameters(spec) : policy_parameters(spec))
      (parameter.is_adapter ? trained : all) += static_cast<double>(flat_shard(parameter, 0, 1).numel);
    lines += fmt::format("{} trains {}: {:.2f} M of {:.1f} M parameters\n", role, describe(*spec.lora), trained / 1e6,
                         all / 1e6);
  }
  return lines;
}

constexpr const char* kUnknownMemory =
    "memory of a rank: unknown, because the model is not on this machine and its name is unknown";

std::string check_models(const Config& config, bool offline, std::optional<RoleShapes>& known, Checker& check) {
  const auto& policy_name = config.actor_train.model_args.model_name_or_path;
  const int64_t longest = config.longest_sequence();
  const auto policy = read_spec(policy_name, written_key(policy_name, config.pretrain, check), FolderUse::kGenerates,
                                longest, offline, check);
  // A role with the policy's model takes its shape, so that notes about the folder appear once.
  const auto spec_of_role = [&](const WorkerConfig& worker, const ModelName& source, FolderUse use) {
    const auto& name = worker.model_args.model_name_or_path;
    return name == policy_name ? policy
                               : read_spec(name, written_key(name, source, check), use, longest, offline, check);
  };
  RoleShapes models;
  for (const auto& [role, worker] : trained_roles(config)) {
    const FolderUse use = role == kCriticRole ? FolderUse::kComputesValues : FolderUse::kComputesLogProbs;
    const auto spec = spec_of_role(*worker, config.reward_pretrain, use);
    if (spec) check_model_layout(worker->strategy_args, *spec, check);
    if (role == kPolicyRole) continue;
    const auto& name = worker->model_args.model_name_or_path;
    if (name != policy_name) check_lengths(config, spec, role, check);
    if (const auto planned = trained_spec(planned_spec(spec, name), *worker, check)) models.emplace(role, *planned);
  }
  for (const JudgingModel& judge : judging_models(config)) {
    const auto& name = judge.worker->model_args.model_name_or_path;
    const auto& key = written_key(name, config.reward_pretrain, check);
    const FolderUse use = judge.writes() ? FolderUse::kGenerates : FolderUse::kScores;
    const auto spec = read_spec(name, key, use, judge.longest_sequence, offline, check);
    if (spec) check_model_layout(judge.worker->strategy_args, *spec, check);
    if (spec && !judge.writes() && !offline) check.collect(key, [&] { require_value_head(model_folder(*name)); });
    if (spec) models.emplace(judge.role, *spec);
  }
  if (policy) check_model_layout(config.actor_infer.strategy_args, *policy, check);
  if (policy) check_routing(config, *policy, check);
  check_lengths(config, policy, kPolicyRole, check);
  check_references(config, policy, spec_of_role, offline, models, check);
  const auto planned_policy = trained_spec(planned_spec(policy, policy_name), config.actor_train, check);
  if (!planned_policy || !check.is_clean()) return kUnknownMemory;
  models.emplace(kPolicyRole, *planned_policy);
  if (planned_policy->quantised)  // quantised weights are sharded in blocks
    for (const WorkerConfig* worker : {&config.actor_train, &config.actor_infer})
      check_model_layout(worker->strategy_args, *planned_policy, check);
  known = models;
  return fmt::format("{}{}\n{}{}", adapters_text(config, models), memory_lines(config, models),
                     cost_text(step_cost(config, models)),
                     policy ? "" : "\nthe policy is not on this machine: its shape is inferred from its name");
}

}  // namespace

ConfigText read_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return {read_file(file), file.string(), overrides};
}

CheckedConfig<Config> load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                  const LoadOptions& options) {
  return load_config_text(read_file(file), file.string(), overrides, options);
}

CheckedConfig<Config> load_config_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options) {
  const auto body = [&](CheckedConfig<Config>& result, Checker& check) {
    const Config& config = result.config;
    place_run(result, options, check), complete_copied_batches(result.config, check);
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

std::string resolved_yaml(const Config& config) {
  return to_yaml(config, config.from_env);
}
}  // namespace roll
