// Table of TRL's DPOTrainer: DPOConfig, ModelConfig and the arguments of trl/scripts/dpo.py.
#include <fmt/ranges.h>

#include "convert/adapters.h"
#include "convert/fine_tuning.h"
#include "convert/trl_adapters.h"

namespace roll {

namespace trl_dpo {
namespace {

using enum Fate;

constexpr const char* kAlone = "not a supported loss; `roll dpo` has DPO, cDPO and IPO";
constexpr const char* kOneBackEnd = "one built-in back-end";

constexpr ForeignRow kRows[] = {
    {"model_name_or_path", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {"ref_model", kCombined},
    {"output_dir", kCopied, "output_dir"},
    {"run_name", kCopied, "exp_name"},
    {"dataset_name", kCopied, "actor_train.data_args.file_name", "", listed},
    {"dataset_train_split", kCopied, "actor_train.data_args.split", "train"},
    {"dataset_test_split", kNothing, "validation.data_args names the evaluation rows"},
    {"dataset_config", kNothing, "give files instead"},
    {"dataset_*", kAutomatic},
    {"seed", kCopied, "seed", "42"},
    TRL_MODEL_ROWS,
    {"beta", kCopied, "beta", "0.1"},
    {"loss_type", kCombined, "", "sigmoid"},
    {"loss_weights", kRefused, kAlone},
    {"label_smoothing", kCombined, "", "0.0"},
    {"ld_alpha", kRefused, kAlone},
    {"f_divergence_type", kRefused, kAlone, "reverse_kl"},
    {"f_alpha_divergence_coef", kNothing, "no effect without f_divergence_type"},
    {"use_weighting", kRefused, kAlone},
    {"discopop_tau", kNothing, "only for DiscoPOP"},
    {"sync_ref_model", kRefused, "a reference that is updated is not supported; roll keeps it frozen"},
    {"ref_model_*", kNothing, "no effect without sync_ref_model"},
    {"max_length", kCopied, "sequence_length", "1024"},
    {"truncation_mode", kAutomatic, "rows are never cut; longer ones are dropped and counted"},
    {"padding_free", kAutomatic, "there is no padding"},
    {"pad_*", kAutomatic, "there is no padding"},
    {"precompute_ref_*", kAutomatic, "the reference computes the log-probs of an update's pairs before the update"},
    {"disable_dropout", kAutomatic, "there is no dropout"},
    {"use_liger_kernel", kAutomatic},
    {"activation_offloading", kAutomatic},
    {"per_device_train_batch_size", kCombined, "", "8"},
    {"gradient_accumulation_steps", kCombined, "", "1"},
    {"max_steps", kCombined},
    {"num_train_epochs", kCombined, "", "3"},
    {"num_processes", kCombined},
    TRL_OPTIMIZER_ROWS,
    {"lr_scheduler_kwargs*", kRefused, "arguments of the schedule are not converted", "{}"},
    {"optim_*", kRefused, "arguments of the optimizer are not converted"},
    {"neftune_noise_alpha", kRefused, "noise on embeddings is not supported"},
    {"label_smoothing_factor", kRefused, "label smoothing is not supported"},
    {"router_aux_loss_coef", kRefused,
     "transformers' load-balancing loss is not supported; moe_aux_loss_coeff is Megatron's", "0.001"},
    {"tools", kAutomatic, "the column `tools` is passed to the template"},
    TRL_SAVING_ROWS,
    {"per_device_eval_batch_size", kAutomatic},
    {"remove_unused_columns", kAutomatic},
    {"no_remove_unused_columns", kAutomatic},
    {"deepspeed_config.zero_stage", kCombined},
    {"zero_optimization.stage", kCombined},
    {"deepspeed*", kAutomatic, kOneBackEnd},
    {"zero_optimization.*", kAutomatic, kOneBackEnd},
    {"fsdp*", kAutomatic, kOneBackEnd},
    {"ddp_*", kAutomatic, kOneBackEnd},
    {"dataloader_*", kAutomatic},
    {"report_to", kAutomatic, kCurves},
    {"push_to_hub", kNothing},
    {"hub_*", kNothing},
    {"log_*", kAutomatic},
    {"config_file", kAutomatic, "roll dpo -n starts the processes"},
};

void combine_loss(Conversion& c) {
  const std::vector<std::string> types = split_entries(c.text("loss_type"));
  if (types.size() != 1 || types[0] != "sigmoid") throw c.refused("loss_type", kAlone);
  c.set_from("label_smoothing", "label_smoothing");
}

void combine_trl_dpo(Conversion& c) {
  refuse_other_models(c, "model_name_or_path");
  combine_loss(c);
  require_adam(c, "optim");
  const auto ranks = count_processes(c);
  if (!ranks) throw user_error("num_processes is not given, so the size of an update is not known: give it with -n");
  const int64_t micro = c.count("per_device_train_batch_size");
  set_row_training(
      c,
      {.role = "actor_train",
       .batch = micro * c.count("gradient_accumulation_steps") * *ranks,
       .batch_key = "per_device_train_batch_size",
       .origin = c.origin({"per_device_train_batch_size", "gradient_accumulation_steps"}) + " x processes, in pairs",
       .micro = micro,
       .steps = "max_steps",
       .epochs = "num_train_epochs"},
      ranks);
  set_trl_adapters(c);
  set_trl_dtype(c, {"reference"});
  for (const char* key : {"deepspeed_config.zero_stage", "zero_optimization.stage"})
    set_zero_stage(c, key, {"actor_train"});
  if (!c.text("ref_model").empty()) c.set_from("reference.model_args.model_name_or_path", "ref_model");
  c.set("reference.device_mapping", std::string(c.draft.find("actor_train.device_mapping")->value), "the policy's");
  set_learnt_rows(c, "actor_train");
}

}  // namespace
}  // namespace trl_dpo

const ForeignTrainer& trl_dpo_trainer() {
  static const ForeignTrainer trainer{"trl-dpo", "dpo", trl_dpo::kRows, trl_dpo::combine_trl_dpo};
  return trainer;
}

}  // namespace roll
