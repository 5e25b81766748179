#include "settings/loading.h"

#include "checkpoint/hub_cache.h"
#include "model/model_folder.h"
#include "model/mtp.h"
#include "model/weights.h"
#include "settings/training_plan.h"

namespace roll {

const ModelName& written_key(const ModelName& role_key, const ModelName& source, const Checker& check) {
  return check.is_set(role_key) || !source ? role_key : source;
}

std::optional<ModelSpec> read_spec(const ModelName& name, const ModelName& key, FolderUse use, int64_t longest,
                                   bool offline, Checker& check) {
  std::optional<ModelSpec> spec;
  if (!name) return spec;
  const auto folder = find_model_folder(*name);
  if (!folder && !offline) check.require(false, key, "{}", missing_model(*name));
  if (folder && is_folder(*name) && *folder != *name)
    check.note(fmt::format("{}: is the folder of a run; the model is {}", check.name(key), folder->string()));
  if (folder)
    check.collect(key, [&] {
      spec = for_length(read_spec(*folder), longest);
      if (offline) return;
      check_folder(*folder, *spec, use);
      for (const std::string& note : folder_notes(*folder)) check.note(note);
    });
  if (spec) note_rotations(*spec, longest, check.name(key), check);
  return spec;
}

namespace {

/// `has_weights`: the model folder, if it is here, has the weights of `spec`.
ModelSpec with_trained_mtp(ModelSpec spec, const WorkerConfig& worker, bool has_weights) {
  if (worker.strategy_args.strategy_config.mtp_loss_coef == 0) return spec;
  const std::string& name = worker.model_args.model_name_or_path.value();
  if (const auto folder = find_model_folder(name); folder && has_weights)
    return with_mtp(spec, open_weights(*folder, spec));
  if (!spec.architecture->mtp)
    throw user_error("{}: models of type {} have no multi-token-prediction head to train", name,
                     spec.architecture->name);
  spec.trains_mtp = true;
  return spec;
}

}  // namespace

ModelSpec with_trained_parts(ModelSpec spec, const std::string& role, const WorkerConfig& worker) {
  if (!is_trained(role)) return spec;
  const ModelArgs& args = worker.model_args;
  spec = with_adapters(std::move(spec), make_lora_spec(args, 0), args.model_name_or_path.value());
  return role == kPolicyRole ? with_trained_mtp(std::move(spec), worker, /*has_weights=*/false) : spec;
}

std::optional<ModelSpec> trained_spec(std::optional<ModelSpec> spec, const WorkerConfig& worker, Checker& check) {
  const ModelArgs& args = worker.model_args;
  const auto adapt = [&] { spec = with_adapters(*spec, make_lora_spec(args, 0), args.model_name_or_path.value()); };
  if (spec && args.lora_target.empty()) check.collect_named(args.lora_rank, adapt);
  if (spec && !args.lora_target.empty()) check.collect_named(args.lora_target, adapt);
  check.require(!spec || !spec->quantised || spec->lora, args.model_name_or_path,
                "its weights are quantised (quantization_config), so only adapters can be trained; set lora_rank, or "
                "name the model without quantisation");
  if (const double& coef = worker.strategy_args.strategy_config.mtp_loss_coef; spec && coef > 0) {
    check.require(
        !spec->lora, coef,
        "adapters are trained, but the multi-token-prediction head belongs to the frozen base model; leave it "
        "out");
    if (!spec->lora) check.collect(coef, [&] { spec = with_trained_mtp(*spec, worker, /*has_weights=*/true); });
  }
  const double& bias_step = worker.strategy_args.strategy_config.moe_router_bias_update_rate;
  check.require(!spec || !spec->lora || bias_step == 0, bias_step,
                "adapters are trained, but router biases belong to the frozen base model; leave it out");
  return spec;
}

}  // namespace roll
