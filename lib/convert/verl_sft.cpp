// Table of verl's fine-tuning: sft_trainer_engine.yaml (verl.trainer.sft_trainer) and the older sft_trainer.yaml
// (verl.trainer.fsdp_sft_trainer), which names its model model.partial_pretrain.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "convert/adapters.h"
#include "convert/fine_tuning.h"
#include "convert/table.h"
#include "convert/verl_adapters.h"

namespace roll {

namespace verl_sft {
namespace {

using enum Fate;

#define SFT_TRAIN "sft_train.training_args."
#define SFT_DATA "sft_train.data_args."

constexpr const char* kMemory = "memory is managed automatically; `offload: true` moves idle models to the host";
constexpr const char* kPython = "rows made by Python code are not converted; write them to a file";
constexpr const char* kPart = "using a part of the rows is not supported; write that part to a file";

constexpr ForeignRow kRows[] = {
    {"data.train_files", kCopied, SFT_DATA "file_name", "", listed},
    {"data.val_files", kCopied, "validation.data_args.file_name", "", listed},
    {"data.train_batch_size", kCombined, "", "256"},
    {"data.micro_batch_size_per_gpu", kCombined, "", "4"},
    {"data.micro_batch_size", kNothing, "deprecated in verl; micro_batch_size_per_gpu is used"},
    {"data.use_dynamic_bsz", kCombined, "", "true"},
    {"data.max_token_len_per_gpu", kCombined, "", "8192"},
    {"data.max_length", kCopied, "sequence_length", "1024"},
    {"data.truncation", kAutomatic, "rows are never cut; longer ones are dropped and counted"},
    {"data.messages_key", kCombined, "", "messages"},
    {"data.tools_key", kAutomatic, "the column `tools` is passed to the template"},
    {"data.enable_thinking_key", kAutomatic, "the column `chat_template_kwargs` is passed to the template"},
    {"data.enable_thinking_default", kCombined, "", "none"},
    {"data.pad_mode", kAutomatic, "there is no padding"},
    {"data.ignore_input_ids_mismatch", kAutomatic, "a conversation is rendered once"},
    {"data.train_max_samples", kRefused, kPart, "-1"},
    {"data.val_max_samples", kUnsupported, kPart},
    {"data.custom_cls.path", kRefused, kPython},
    {"data.custom_cls.*", kNothing, "no effect without custom_cls.path"},
    {"data.apply_chat_template_kwargs*", kRefused,
     "template variables are not converted; put them into the rows' column chat_template_kwargs", "{}"},
    {"data.balance_dp_token", kCombined, "", "false"},
    {"data.num_workers", kAutomatic},
    {"data.use_shm", kNothing},
    {"data.prompt_key", kCombined, "", "question"},
    {"data.response_key", kCombined, "", "answer"},
    {"data.prompt_dict_keys", kCombined},
    {"data.response_dict_keys", kCombined},
    {"data.multiturn.enable", kCombined, "", "false"},
    {"data.multiturn.messages_key", kCombined, "", "messages"},
    {"data.multiturn.*", kAutomatic, "the columns `tools` and `chat_template_kwargs` are passed to the template"},
    {"data.chat_template", kRefused,
     "a custom chat template is not converted; write it to the model's chat_template.jinja"},

    {"model.path", kCombined},
    {"model.partial_pretrain", kCombined},
    {"model.enable_gradient_checkpointing", kCopied, "sft_train.model_args.disable_gradient_checkpointing", "true",
     negated},
    VERL_ADAPTER_ROWS("model."),
    VERL_MTP_ROWS("model."),
    {"model.override_config*", kRefused,
     "changes of the model are not converted; make them in the model folder's config.json", "{}"},
    {"model.custom_chat_template", kRefused,
     "a custom chat template is not converted; write it to the model's chat_template.jinja"},
    {"model.external_lib", kUnsupported, "Python code cannot be converted"},
    {"model.use_*", kAutomatic},
    {"model.trust_remote_code", kNothing},
    {"model.*", kAutomatic, kMemory},

    {"optim.lr", kCombined},
    {"optim.lr_warmup_steps", kCombined},
    {"optim.lr_warmup_steps_ratio", kCombined},
    {"optim.warmup_steps_ratio", kRefused, "verl does not read this key; use lr_warmup_steps_ratio"},
    {"optim.lr_warmup_init", kRefused, "a warm-up that starts above 0 is not supported", "0"},
    {"optim.weight_decay", kCopied, SFT_TRAIN "weight_decay", "0.01"},
    {"optim.betas", kCombined},
    {"optim.clip_grad", kCopied, "max_grad_norm", "1.0"},
    {"optim.lr_scheduler_type", kCombined},
    {"optim.lr_scheduler", kCombined},
    {"optim.warmup_style", kCombined},
    {"optim.lr_decay_style", kCombined},
    {"optim.min_lr", kCombined},
    {"optim.min_lr_ratio", kCombined},
    {"optim.optimizer", kCombined, "", "AdamW"},
    {"optim.optimizer_impl", kRefused, "not a supported optimizer; use PyTorch's AdamW", "torch.optim"},
    {"optim.total_training_steps", kAutomatic, "schedules end with the run"},
    {"optim.num_cycles", kRefused, "several cycles of the learning rate are not supported", "0.5"},
    {"optim.lr_decay_steps", kRefused, "a schedule that ends before the run is not supported", "-1"},
    {"optim.weight_decay_incr_style", kRefused, "a changing weight decay is not supported", "constant"},
    {"optim.override_optimizer_config.*", kAutomatic, "states are float32; `offload: true` moves them"},
    {"optim.*", kRefused, "not a supported setting of the optimizer or its schedule"},

    {"engine.tensor_model_parallel_size", kCombined, "", "1"},
    {"engine.pipeline_model_parallel_size", kCombined, "", "1"},
    {"engine.virtual_pipeline_model_parallel_size", kCombined},
    {"engine.context_parallel_size", kCombined, "", "1"},
    {"engine.ulysses_sequence_parallel_size", kCombined, "", "1"},
    {"ulysses_sequence_parallel_size", kCombined},
    {"engine.expert_model_parallel_size", kCombined, "", "1"},
    {"engine.override_transformer_config.moe_aux_loss_coeff", kCopied,
     "sft_train.strategy_args.strategy_config.moe_aux_loss_coeff"},
    {"engine.override_transformer_config.moe_z_loss_coeff", kCopied,
     "sft_train.strategy_args.strategy_config.moe_z_loss_coeff"},
    {"engine.qat.enable", kRefused,
     "quantisation-aware training (QAT) is not supported; model_args.quantise_base is for LoRA"},
    {"engine.qat.*", kNothing, "no effect without qat.enable"},
    {"engine.*", kAutomatic, "one built-in back-end"},

    {"trainer.total_epochs", kCombined, "", "4"},
    {"trainer.total_training_steps", kCombined},
    {"trainer.seed", kCopied, "seed", "1"},
    {"trainer.save_freq", kCombined, "", "-1"},
    {"trainer.test_freq", kCombined, "", "-1"},
    {"trainer.default_local_dir", kCopied, "output_dir"},
    {"trainer.experiment_name", kCopied, "exp_name"},
    {"trainer.max_ckpt_to_keep", kCopied, "max_ckpt_to_keep"},
    {"trainer.logger", kAutomatic, kCurves},
    {"trainer.resume_mode", kAutomatic, "roll sft --resume"},
    {"trainer.resume_from_path", kAutomatic, "resume_from_checkpoint=FOLDER"},
    {"trainer.*", kNothing},
    {"num_processes", kCombined},
    {"checkpoint.*", kAutomatic, "checkpoints are complete, and written during training"},
    {"use_remove_padding", kAutomatic, "there is no padding"},
    {"hydra.*", kNothing},
};

bool is_older_trainer(const Conversion& c) {
  return c.is_set("model.partial_pretrain");
}

/// Returns a key's value, else the default of the trainer that the script starts.
std::string value_or_default(const Conversion& c, const char* key, const char* newer_default,
                             const char* older_default) {
  return c.is_set(key) ? c.text(key) : is_older_trainer(c) ? older_default : newer_default;
}

/// Returns the column extra_info.question for "extra_info" and "['question']".
std::string column_path(const Conversion& c, const char* column, const char* keys) {
  const std::vector<std::string> inside = split_entries(c.text(keys));
  if (inside.size() > 1) throw c.refused(keys, "several keys of a column are not supported; give the one to train on");
  return inside.empty() ? c.text(column) : c.text(column) + "." + inside[0];
}

void combine_columns(Conversion& c) {
  if (!is_older_trainer(c)) return c.set_from(SFT_DATA "messages", "data.messages_key");
  if (c.is_true("data.multiturn.enable")) return c.set_from(SFT_DATA "messages", "data.multiturn.messages_key");
  c.set(SFT_DATA "question", column_path(c, "data.prompt_key", "data.prompt_dict_keys"), c.origin("data.prompt_key"));
  c.set(SFT_DATA "response", column_path(c, "data.response_key", "data.response_dict_keys"),
        c.origin("data.response_key"));
  c.differs(
      "answers: in verl an answer ends with the tokenizer's end token, in roll with the text that the template writes "
      "after the assistant's message");
}

void combine_schedule(Conversion& c) {
  c.set(SFT_TRAIN "learning_rate", value_or_default(c, "optim.lr", "1e-3", "1e-5"), c.origin("optim.lr"));
  const std::string ratio = value_or_default(c, "optim.lr_warmup_steps_ratio", "0.0", "0.1"),
                    steps = c.text("optim.lr_warmup_steps");
  if (!steps.empty() && c.number("optim.lr_warmup_steps") >= 0)
    c.set_from(SFT_TRAIN "warmup_steps", "optim.lr_warmup_steps");
  else
    c.set(SFT_TRAIN "warmup_ratio", ratio, c.origin("optim.lr_warmup_steps_ratio"));
  std::string type = is_older_trainer(c) ? "cosine" : "constant", from = "optim.lr_scheduler_type";
  for (const char* key :
       {"optim.lr_scheduler_type", "optim.lr_scheduler", "optim.warmup_style", "optim.lr_decay_style"})
    if (!c.text(key).empty()) {
      type = c.text(key);
      from = key;
    }
  c.set(SFT_TRAIN "lr_scheduler_type", type == "constant" ? "constant_with_warmup" : type, c.origin(from));
  set_last_rate(c, type, "optim.min_lr", false, "sft_train");
  set_last_rate(c, type, "optim.min_lr_ratio", true, "sft_train");
  require_adam(c, "optim.optimizer");
  if (c.is_set("optim.betas")) return set_betas(c, "sft_train", "optim.betas");
  c.set(SFT_TRAIN "adam_beta1", "0.9", "optim.betas' default");
  c.set(SFT_TRAIN "adam_beta2", is_older_trainer(c) ? "0.95" : "0.999", "optim.betas' default");
}

/// Sets an interval in steps: -1 is never; "after_each_epoch" has no counterpart.
void set_interval(Conversion& c, const char* key, const char* our_key) {
  const std::string interval = c.text(key);
  if (interval != "after_each_epoch") return c.set(our_key, steps_or_never(interval), c.origin(key));
  c.set(our_key, "0", c.origin(key));
  c.differs(fmt::format(
      "{}: verl did so after each pass over the rows, roll only at the end: set it to rows / train_batch_size",
      our_key));
}

void combine_batches(Conversion& c) {
  static constexpr std::pair<const char*, const char*> kStages[] = {
      {"engine.pipeline_model_parallel_size", "pipeline_model_parallel_size"},
      {"engine.virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"}};
  const char* const ulysses =
      is_older_trainer(c) ? "ulysses_sequence_parallel_size" : "engine.ulysses_sequence_parallel_size";
  const int64_t context =
      std::max(c.text(ulysses).empty() ? 1 : c.count(ulysses), c.count("engine.context_parallel_size"));
  const int64_t tensor = c.count("engine.tensor_model_parallel_size"), stages = c.count(kStages[0].first);
  const auto ranks = count_processes(c);
  const bool packs = !is_older_trainer(c) && c.is_true("data.use_dynamic_bsz");
  const bool has_layout = set_row_training(c,
                                           {.role = "sft_train",
                                            .batch = c.count("data.train_batch_size"),
                                            .batch_key = "data.train_batch_size",
                                            .origin = c.origin("data.train_batch_size"),
                                            .micro = packs ? 1 : c.count("data.micro_batch_size_per_gpu"),
                                            .steps = "trainer.total_training_steps",
                                            .epochs = "trainer.total_epochs",
                                            .model_ranks = context * tensor * stages},
                                           ranks);
  if (has_layout) {
    const std::string layout = "sft_train.strategy_args.strategy_config.";
    if (context > 1) c.set(layout + "context_parallel_size", fmt::format("{}", context), c.origin(ulysses));
    if (tensor > 1) c.set_from(layout + "tensor_model_parallel_size", "engine.tensor_model_parallel_size");
    set_stages(c, kStages, {"sft_train"});
    set_expert_ranks(c, "engine.expert_model_parallel_size", std::max<int64_t>(1, *ranks / (tensor * stages)),
                     {"sft_train"});
  }
  if (!packs) return;
  const int64_t tokens = c.count("data.max_token_len_per_gpu");
  set_packing(c,
              {.train = tokens,
               .forward = tokens,
               .ranks = has_layout ? context : 1,
               .origin = c.origin("data.max_token_len_per_gpu")},
              {"sft_train"});
}

void combine_verl_sft(Conversion& c) {
  const char* const model = is_older_trainer(c) ? "model.partial_pretrain" : "model.path";
  if (!c.text(model).empty()) c.set_from("pretrain", model);
  refuse_other_models(c, model);
  combine_columns(c);
  if (c.text("data.enable_thinking_default") != "none")
    c.set_from(SFT_DATA "enable_thinking", "data.enable_thinking_default");
  combine_schedule(c);
  combine_batches(c);
  set_verl_adapters(c, "model.", "sft_train");
  set_verl_mtp(c, "model.", "sft_train");
  set_interval(c, "trainer.save_freq", "save_steps");
  set_interval(c, "trainer.test_freq", "eval_steps");
  if (is_older_trainer(c) && !c.is_true("data.balance_dp_token"))
    c.differs(
        "loss: verl averages over each rank's micro-batch, then over these means; roll averages over all trained "
        "tokens of the update");
  set_learnt_rows(c, "sft_train");
}

}  // namespace
}  // namespace verl_sft

const ForeignTrainer& verl_sft_trainer() {
  static const ForeignTrainer trainer{"verl-sft", "sft", verl_sft::kRows, verl_sft::combine_verl_sft};
  return trainer;
}

}  // namespace roll
