// Loads the configurations of `roll sft`, `roll dpo` and `roll distill`, which learn from rows.
#include "config/writer.h"
#include "settings/batch_plan.h"
#include "settings/check_config_text.h"
#include "settings/describe_loss.h"
#include "settings/distillation.h"
#include "settings/loading.h"

namespace roll {

namespace {

void place_role(CheckedConfig<SftConfig>& result, const LoadOptions& options, Checker& check) {
  WorkerConfig& worker = result.config.trained;
  const auto& mapping = worker.device_mapping;
  const int64_t num_devices = mapping ? std::ssize(mapping->devices) : 0;
  count_ranks(result, num_devices, mapping, options, check);
  worker.ranks = all_ranks(num_devices > 0 ? num_devices : result.num_ranks);
}

LongestSequence longest_sequence(const RowConfig& config, Checker& check) {
  return {config.sequence_length, check.name(config.sequence_length)};
}

/// Places the trained role and its frozen helper, which must be on the same devices.
template <class T>
void place_pair(CheckedConfig<T>& result, WorkerConfig& trained, WorkerConfig& helper, const char* reason,
                const LoadOptions& options, Checker& check) {
  check.require(!helper.device_mapping || helper.device_mapping == trained.device_mapping, helper.device_mapping,
                "must be the same as for {}: {}", check.key(trained), reason);
  const std::vector<PlacedRole> roles{{check.key(trained), &trained}, {check.key(helper), &helper}};
  const auto num_devices = std::ssize(used_devices(roles));
  count_ranks(result, num_devices, any_mapping(roles), options, check);
  place_roles(roles, num_devices > 0 ? num_devices : result.num_ranks);
}

/// Checks the keys of both roles. `unit`: sequences that a micro-batch of the trained role must not split.
void check_pair(const RowConfig& config, const WorkerConfig& trained, const WorkerConfig& helper,
                const LongestSequence& unit, bool offline, Checker& check) {
  check_layout(trained, check);
  check_forward_layout(helper, check);
  check_adapters(trained, check);
  check_no_adapters(helper, check);
  check_sft_batch(trained, check);
  check.require(!trained.loss_func, trained.loss_func.library, "roll {} has a built-in loss; remove it", config.kind);
  for (const WorkerConfig* worker : {&trained, &helper})
    check_dtype(worker->model_args, worker->device_mapping.has_value(), check);
  check_packing(trained, unit, /*trains=*/true, /*forwards=*/true, check);
  check_packing(helper, longest_sequence(config, check), /*trains=*/false, /*forwards=*/true, check);
  check_data(config, offline, check);
}

/// Checks a role's model and returns its shape. `source`: key of the default model folder.
std::optional<ModelSpec> check_model(const RowConfig& config, const WorkerConfig& worker, const ModelName& source,
                                     FolderUse use, bool offline, Checker& check) {
  const auto& name = worker.model_args.model_name_or_path;
  const auto spec = read_spec(name, written_key(name, source, check), use, config.sequence_length, offline, check);
  check_length(config.sequence_length, config.sequence_length, spec, check.key(worker), check);
  if (spec) check_model_layout(worker.strategy_args, *spec, check);
  return trained_spec(spec, worker, check);
}

CheckedConfig<SftConfig> load_sft_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options) {
  const auto body = [&](CheckedConfig<SftConfig>& result, Checker& check) {
    const RowConfig& config = result.config;
    place_role(result, options, check);
    check_layout(config.trained, check);
    check_adapters(config.trained, check);
    check_sft_batch(config.trained, check);
    check_dtype(config.trained.model_args, config.trained.device_mapping.has_value(), check);
    check_packing(config.trained, longest_sequence(config, check), /*trains=*/true, /*forwards=*/false, check);
    check_data(config, options.offline, check);
    check_plugins(config.trained, options.offline, check);
    const auto policy =
        check_model(config, config.trained, config.pretrain, FolderUse::kGenerates, options.offline, check);
    if (policy) result.models = RoleShapes{{kPolicyRole, *policy}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<SftConfig>(yaml, origin, overrides, body);
}

CheckedConfig<DpoConfig> load_dpo_text(const std::string& yaml, const std::string& origin,
                                       const std::vector<std::string>& overrides, const LoadOptions& options) {
  const auto body = [&](CheckedConfig<DpoConfig>& result, Checker& check) {
    const DpoConfig& config = result.config;
    place_pair(result, result.config.trained, result.config.reference,
               "each rank computes log-probs of the pairs that it trains on", options, check);
    const LongestSequence pair{2 * config.sequence_length, "two responses of " + check.name(config.sequence_length)};
    check_pair(config, config.trained, config.reference, pair, options.offline, check);
    check.require(!config.ipo || config.label_smoothing == 0, config.label_smoothing,
                  "belongs to DPO's loss, but {}; remove one of the two", check.name(config.ipo));
    const auto policy =
        check_model(config, config.trained, config.pretrain, FolderUse::kGenerates, options.offline, check);
    const auto reference =
        check_model(config, config.reference, config.pretrain, FolderUse::kComputesLogProbs, options.offline, check);
    if (policy && reference)
      check.require(
          policy->vocab_size <= reference->vocab_size, config.reference.model_args.model_name_or_path,
          "its vocab_size is {}, but the policy's is {}; choose a reference that knows all tokens of the policy",
          reference->vocab_size, policy->vocab_size);
    if (policy && reference) result.models = RoleShapes{{kPolicyRole, *policy}, {kReferenceRole, *reference}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<DpoConfig>(yaml, origin, overrides, body);
}

}  // namespace

CheckedConfig<SftConfig> load_sft_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options) {
  return load_sft_text(read_file(file), file.string(), overrides, options);
}

CheckedConfig<DpoConfig> load_dpo_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                         const LoadOptions& options) {
  return load_dpo_text(read_file(file), file.string(), overrides, options);
}

void check_config_text(const std::string& command, const std::string& yaml, const std::string& origin,
                       const LoadOptions& options) {
  if (command == "sft")
    load_sft_text(yaml, origin, {}, options);
  else if (command == "dpo")
    load_dpo_text(yaml, origin, {}, options);
  else
    load_config_text(yaml, origin, {}, options);
}

CheckedConfig<DistillConfig> load_distill_config(const std::filesystem::path& file,
                                                 const std::vector<std::string>& overrides,
                                                 const LoadOptions& options) {
  const auto body = [&](CheckedConfig<DistillConfig>& result, Checker& check) {
    const DistillConfig& config = result.config;
    const WorkerConfig &student = config.trained, &teacher = config.teacher;
    place_pair(result, result.config.trained, result.config.teacher, "both roles use all ranks", options, check);
    check_pair(config, student, teacher, longest_sequence(config, check), options.offline, check);
    const ModelName& source = check.is_set(config.student_pretrain) ? config.student_pretrain : config.pretrain;
    const auto student_spec = check_model(config, student, source, FolderUse::kGenerates, options.offline, check);
    const auto teacher_spec =
        check_model(config, teacher, config.teacher_pretrain, FolderUse::kComputesLogProbs, options.offline, check);
    if (student_spec)
      check.require(config.logits_topk <= student_spec->vocab_size, config.logits_topk,
                    "is more than the {} tokens of the student", student_spec->vocab_size);
    if (student_spec && teacher_spec)
      check_teacher({teacher.model_args.model_name_or_path, *teacher_spec},
                    {student.model_args.model_name_or_path, *student_spec}, "student", options.offline, check);
    if (student_spec && teacher_spec)
      result.models = RoleShapes{{kPolicyRole, *student_spec}, {kReferenceRole, *teacher_spec}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<DistillConfig>(read_file(file), file.string(), overrides, body);
}

std::string find_command(const std::filesystem::path& file) {
  std::vector<std::string> notes;
  const Node tree = read_tree(read_file(file), file.string(), {}, notes);
  if (tree.kind != Node::Kind::kMap) return "train";
  DpoConfig dpo;
  SftConfig sft;
  const KeyIndex dpo_keys(dpo, {}, ""), sft_keys(sft, {}, "");
  const auto has = [&](const KeyIndex& keys, const Address& member) { return tree.find(keys.key(member)) != nullptr; };
  if (has(sft_keys, sft.trained)) return "sft";
  DistillConfig distill;
  const KeyIndex distill_keys(distill, {}, "");
  if (has(distill_keys, distill.trained) || has(distill_keys, distill.student_pretrain)) return "distill";
  const bool names_pairs = has(dpo_keys, dpo.beta) || has(dpo_keys, dpo.ipo) || has(dpo_keys, dpo.label_smoothing) ||
                           has(dpo_keys, dpo.chosen_key) || has(dpo_keys, dpo.rejected_key);
  return names_pairs && !tree.find("rewards") ? "dpo" : "train";
}

std::string described_by(const std::string& command) {
  return command == "sft" ? "sft_train" : command == "distill" ? "student" : "preferences";
}

std::string resolved_yaml(const SftConfig& config) {
  return to_yaml(config, config.from_env);
}
std::string resolved_yaml(const DpoConfig& config) {
  return to_yaml(config, config.from_env);
}
std::string resolved_yaml(const DistillConfig& config) {
  return to_yaml(config, config.from_env);
}

}  // namespace roll
