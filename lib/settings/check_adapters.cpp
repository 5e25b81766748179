#include "settings/by_role.h"
#include "settings/checks.h"
#include "settings/judging_models.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Calls f with the key that asks for adapters.
template <class F>
void with_adapter_key(const ModelArgs& args, const F& f) {
  if (args.lora_target.empty())
    f(args.lora_rank);
  else
    f(args.lora_target);
}

}  // namespace

void check_adapters(const WorkerConfig& trained, Checker& check) {
  const ModelArgs& args = trained.model_args;
  if (args.trains_adapters()) {
    // The factors of a low-rank matrix are no maps between hidden vectors, as Muon assumes.
    check.require(
        !trained.training_args.uses_muon(), trained.training_args.optimizer,
        "updates whole matrices, but lora_* trains adapters, which AdamW updates; set adamw, or remove lora_*");
    if (args.lora_target.empty())
      check.note(check.name(args.lora_rank) + ": lora_target is not set, so it is all-linear");
    return;
  }
  const auto note_ignored = [&](const auto& key) {
    if (check.is_set(key)) check.note_idle(key, check.name(key) + ": has no effect without lora_rank and lora_target");
  };
  check.require(!args.quantise_base, args.quantise_base,
                "only the frozen weights under trained adapters are quantised; set lora_rank, or remove it");
  note_ignored(args.lora_alpha), note_ignored(args.lora_dropout), note_ignored(args.additional_target),
      note_ignored(args.use_dora), note_ignored(args.use_rslora);
}

void check_no_mtp(const WorkerConfig& worker, Checker& check) {
  const double& coef = worker.strategy_args.strategy_config.mtp_loss_coef;
  check.require(coef == 0, coef, "only the trained policy's multi-token-prediction head is trained; leave it out");
}

void check_no_adapters(const WorkerConfig& worker, Checker& check) {
  check_no_mtp(worker, check);
  check.require(!worker.model_args.quantise_base, worker.model_args.quantise_base,
                "only the frozen weights under trained adapters are quantised; remove it");
  if (!worker.model_args.trains_adapters()) return;
  with_adapter_key(worker.model_args, [&](const auto& key) {
    check.require(false, key,
                  "this role is not trained; remove the key, or name a folder with adapters as model_name_or_path");
  });
}

void check_adapters(const Config& config, Checker& check) {
  for (const auto& [name, worker] : trained_roles(config)) {
    check_adapters(*worker, check);
    if (name != kPolicyRole) check_no_mtp(*worker, check);
  }
  check_no_mtp(config.actor_infer, check), check_no_mtp(config.reference, check);
  for (const auto& [name, worker] : reference_roles(config))
    if (name != kReferenceRole)
      check_no_adapters(*worker, check);
    else if (worker->model_args.trains_adapters())
      check.note(name + ": the reference has no adapters, so lora_* in its model_args has no effect");
  for (const JudgingModel& judge : judging_models(config)) check_no_adapters(*judge.worker, check);
  const ModelArgs &sampler = config.actor_infer.model_args, &actor = config.actor_train.model_args;
  if (!sampler.trains_adapters()) return;
  with_adapter_key(sampler, [&](const auto& key) {
    check.require(actor.trains_adapters(), key,
                  "the sampler uses the adapters of actor_train, which trains none; remove it");
  });
  check.require(!actor.trains_adapters() || make_lora_spec(sampler, 0)->rank == make_lora_spec(actor, 0)->rank,
                sampler.lora_rank, "the sampler uses the adapters of actor_train, whose rank is {}; remove it",
                make_lora_spec(actor, 0).value_or(LoraSpec()).rank);
}

}  // namespace roll
