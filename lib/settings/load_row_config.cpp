// The configurations of pipelines that learn from rows: `roll sft`, `roll dpo`, `roll distill`.
#include "checkpoint/hub_cache.h"
#include "config/writer.h"
#include "settings/batch_plan.h"
#include "settings/describe_loss.h"
#include "settings/distillation.h"
#include "settings/loading.h"

namespace roll {

namespace {

void place(CheckedConfig<SftConfig>& result, const LoadOptions& options, Checker& check) {
  WorkerConfig& worker = result.config.sft_train;
  const auto& mapping = worker.device_mapping;
  const int64_t num_devices = mapping ? std::ssize(mapping->devices) : 0;
  count_ranks(result, num_devices, mapping, options, check);
  worker.ranks = all_ranks(num_devices > 0 ? num_devices : result.num_ranks);
}

/// Of the trained role and one that helps it, on the ranks of the same devices.
template <class T>
void place_pair(CheckedConfig<T>& result, WorkerConfig& trained, WorkerConfig& helper, const char* why,
                const LoadOptions& options, Checker& check) {
  check.require(!helper.device_mapping || helper.device_mapping == trained.device_mapping, helper.device_mapping,
                "must be that of {}: {}", check.key(trained), why);
  const std::vector<PlacedRole> roles{{check.key(trained), &trained}, {check.key(helper), &helper}};
  const auto num_devices = std::ssize(devices_of(roles));
  count_ranks(result, num_devices, any_mapping(roles), options, check);
  place_roles(roles, num_devices > 0 ? num_devices : result.num_ranks);
}

/// Of a role that learns from rows, or helps to. `source`: where its model is from, unless it says so itself.
std::optional<ModelSpec> check_model(const SftConfig& config, const WorkerConfig& worker, const ModelName& source,
                                     FolderUse use, bool offline, Checker& check) {
  const auto& name = worker.model_args.model_name_or_path;
  const auto spec = spec_of(name, written(name, source, check), use, config.sequence_length, offline, check);
  check_length(config.sequence_length, config.sequence_length, spec, check.key(worker), check);
  if (spec) check_model_layout(worker.strategy_args, *spec, check);
  return trained_spec(spec, worker, check);
}

}  // namespace

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
    const auto policy =
        check_model(config, config.sft_train, config.pretrain, FolderUse::kWrites, options.offline, check);
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
    place_pair(result, result.config.sft_train, result.config.reference,
               "each rank computes log-probs of the pairs that it trains on", options, check);
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
    const auto policy =
        check_model(config, config.sft_train, config.pretrain, FolderUse::kWrites, options.offline, check);
    const auto reference =
        check_model(config, config.reference, config.pretrain, FolderUse::kForwards, options.offline, check);
    if (policy && reference)
      check.require(policy->vocab_size <= reference->vocab_size, config.reference.model_args.model_name_or_path,
                    "its vocab_size is {}, and the policy's {}", reference->vocab_size, policy->vocab_size);
    if (policy && reference) result.models = PlannedModels{.policy = *policy, .critic = {}, .references = {reference}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<DpoConfig>(read_file(file), file.string(), overrides, body);
}

CheckedConfig<DistillConfig> load_distill_config(const std::filesystem::path& file,
                                                 const std::vector<std::string>& overrides,
                                                 const LoadOptions& options) {
  const auto body = [&](CheckedConfig<DistillConfig>& result, Checker& check) {
    const DistillConfig& config = result.config;
    const WorkerConfig &student = config.sft_train, &teacher = config.teacher;
    place_pair(result, result.config.sft_train, result.config.teacher, "a step's ranks are all there is", options,
               check);
    check_layout(student, check);
    check_forward_layout(teacher, check);
    check_adapters(student, check);
    check_no_adapters(teacher, check);
    check_sft_batch(student, check);
    check.require(!student.loss_func, student.loss_func.library, "roll distill has a loss of its own; remove it");
    for (const WorkerConfig* worker : {&student, &teacher})
      check_dtype(worker->model_args, worker->device_mapping.has_value(), check);
    const LongestSequence longest{config.sequence_length, check.name(config.sequence_length)};
    check_packing(student, longest, /*trains=*/true, /*forwards=*/true, check);
    check_packing(teacher, longest, /*trains=*/false, /*forwards=*/true, check);
    check_data(config, options.offline, check);
    const ModelName& source = check.is_set(config.student_pretrain) ? config.student_pretrain : config.pretrain;
    const auto learns = check_model(config, student, source, FolderUse::kWrites, options.offline, check);
    const auto teaches =
        check_model(config, teacher, config.teacher_pretrain, FolderUse::kForwards, options.offline, check);
    if (learns) {
      check.require(config.logits_topk <= learns->vocab_size, config.logits_topk,
                    "is more than the {} tokens of the student", learns->vocab_size);
      if (teaches)
        check.require(teaches->vocab_size >= learns->vocab_size, teacher.model_args.model_name_or_path,
                      "its vocab_size is {}, and the student's {}: a teacher must know all tokens that the student may "
                      "write",
                      teaches->vocab_size, learns->vocab_size);
    }
    if (!options.offline && learns && teaches)
      check.collect(teacher.model_args.model_name_or_path, [&] {
        check_same_tokens(model_folder(*student.model_args.model_name_or_path),
                          model_folder(*teacher.model_args.model_name_or_path));
      });
    if (learns && teaches) result.models = PlannedModels{.policy = *learns, .critic = {}, .references = {teaches}};
    result.plan = sft_plan(config);
    result.loss = describe_loss(config);
  };
  return load_checked<DistillConfig>(read_file(file), file.string(), overrides, body);
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
  DistillConfig distill;
  const KeyIndex of_distill(distill, {}, "");
  if (has(of_distill, distill.sft_train) || has(of_distill, distill.student_pretrain)) return "distill";
  const bool names_pairs = has(of_dpo, dpo.beta) || has(of_dpo, dpo.ipo) || has(of_dpo, dpo.label_smoothing) ||
                           has(of_dpo, dpo.chosen_key) || has(of_dpo, dpo.rejected_key);
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
