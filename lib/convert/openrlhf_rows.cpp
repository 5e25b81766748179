// Tables of OpenRLHF's train_sft and train_dpo, whose flags have groups (--train.batch_size). Keys of both are first
// mapped to actor_train.
#include <fmt/format.h>

#include <utility>

#include "convert/adapters.h"
#include "convert/fine_tuning.h"

namespace roll {

namespace openrlhf_rows {
namespace {

using enum Fate;

#define TRAINING "actor_train.training_args."

constexpr const char* kMemory = "memory is managed automatically; `offload: true` moves idle models to the host";

constexpr ForeignRow kRows[] = {
    {"model.model_name_or_path", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {"ref.model_name_or_path", kCombined},
    {"ref.offload", kAutomatic, kMemory},
    {"model.gradient_checkpointing_enable", kCombined, "", "false"},
    {"model.gradient_checkpointing_reentrant", kAutomatic},
    {"model.aux_loss_coef", kRefused,
     "transformers' load-balancing loss is not supported; moe_aux_loss_coeff is Megatron's"},
    {"model.pretrain_mode_enable", kRefused, "pretraining mode is not converted; give rows {\"text\": ...}"},
    {"model.beta", kCombined, "", "0.1"},
    {"model.ipo_enable", kCombined, "", "false"},
    {"model.label_smoothing", kCombined, "", "0.0"},
    {"model.nll_loss_coef", kRefused, "an additional loss on chosen responses is not supported"},

    {"data.dataset", kCopied, "actor_train.data_args.file_name", "", listed},
    {"data.dataset_probs", kRefused, "mixing several files is not supported; write them to one file"},
    {"data.dataset_split", kCopied, "actor_train.data_args.split", "train"},
    {"data.max_samples", kRefused, "using a part of the rows is not supported; write that part to a file", "1000000"},
    {"data.max_len", kCombined},
    {"data.multiturn", kCombined, "", "false"},
    {"data.input_key", kCombined, "", "input"},
    {"data.output_key", kCombined},
    {"data.prompt_key", kCombined},
    {"data.chosen_key", kCombined, "", "chosen"},
    {"data.rejected_key", kCombined, "", "rejected"},
    {"data.input_template", kCombined},
    {"data.apply_chat_template", kCombined, "", "false"},
    {"data.tokenizer_chat_template", kRefused,
     "a custom chat template is not converted; write it to the model's chat_template.jinja"},
    {"data.disable_fast_tokenizer", kNothing},
    {"eval.dataset", kCopied, "validation.data_args.file_name", "", listed},
    {"eval.split", kCopied, "validation.data_args.split"},
    {"eval.steps", kCopied, "eval_steps", "0", steps_or_never},

    {"train.batch_size", kCombined, "", "128"},
    {"train.micro_batch_size", kCombined, "", "8"},
    {"train.max_epochs", kCombined},
    {"train.seed", kCopied, "seed", "42"},
    {"train.full_determinism_enable", kCopied, "deterministic"},
    {"optim", kRefused, "not a supported optimizer; convert with AdamW (and see training_args.optimizer: muon)",
     "adam"},
    {"muon.*", kNothing},
    {"adam.lr", kCombined},
    {"adam.betas", kCombined, "", "0.9 0.95"},
    {"adam.eps", kCopied, TRAINING "adam_epsilon", "1e-8"},
    {"adam.weight_decay", kCopied, TRAINING "weight_decay", "0.0"},
    {"lr_scheduler", kCombined, "", "cosine_with_min_lr"},
    {"lr_warmup_ratio", kCopied, TRAINING "warmup_ratio", "0.03"},
    {"min_lr_ratio", kCombined, "", "0.1"},
    {"max_norm", kCopied, "max_grad_norm", "1.0"},

    {"ds.load_in_4bit", kCombined, "", "false"},
    {"ds.lora.rank", kCombined, "", "0"},
    {"ds.lora.alpha", kCombined, "", "16"},
    {"ds.lora.dropout", kCombined, "", "0"},
    {"ds.lora.target_modules", kCombined, "", "all-linear"},
    {"ds.zero_stage", kCombined},
    {"ds.tensor_parallel_size", kCombined, "", "1"},
    {"ds.ring_attn_size", kCombined, "", "1"},
    {"ds.packing_samples", kAutomatic, "there is no padding"},
    {"ds.param_dtype", kAutomatic, "bf16 on a GPU; model_args.dtype changes it"},
    {"ds.*", kAutomatic, kMemory},
    {"num_processes", kCombined},
    {"ckpt.output_dir", kCopied, "output_dir"},
    {"ckpt.save_steps", kCopied, "save_steps", "0", steps_or_never},
    {"ckpt.max_num", kCopied, "max_ckpt_to_keep"},
    {"ckpt.load_enable", kAutomatic, "--resume"},
    {"ckpt.*", kNothing},
    {"logger.logging_steps", kCopied, "logging_steps"},
    {"logger.*", kAutomatic, kCurves},
    {"local_rank", kNothing},
    {"use_ms", kNothing},
};

void combine_optimizer(Conversion& c, const char* default_rate) {
  c.set(TRAINING "learning_rate", c.is_set("adam.lr") ? c.text("adam.lr") : default_rate, c.origin("adam.lr"));
  set_betas(c, "actor_train", "adam.betas");
  const std::string type = c.text("lr_scheduler");
  const bool has_end = type == "cosine_with_min_lr";
  c.set(TRAINING "lr_scheduler_type",
        has_end              ? "cosine"
        : type == "constant" ? "constant_with_warmup"
                             : type,
        c.origin("lr_scheduler"));
  if (has_end) set_last_rate(c, type, "min_lr_ratio", true);
}

/// `epochs`: the trainer's default number of passes.
void combine_run(Conversion& c, const char* epochs, Roles roles) {
  refuse_other_models(c, "model.model_name_or_path");
  const int64_t tensor = c.count("ds.tensor_parallel_size"), context = c.count("ds.ring_attn_size");
  const auto ranks = count_processes(c);
  const bool has_layout = set_row_training(c,
                                           {.role = "actor_train",
                                            .batch = c.count("train.batch_size"),
                                            .batch_key = "train.batch_size",
                                            .origin = c.origin("train.batch_size"),
                                            .micro = c.count("train.micro_batch_size"),
                                            .steps = nullptr,
                                            .epochs = "train.max_epochs",
                                            .epochs_default = epochs,
                                            .model_ranks = tensor * context},
                                           ranks);
  for (const char* role : roles) {
    const std::string layout = std::string(role) + ".strategy_args.strategy_config.";
    if (!has_layout) continue;
    c.set_from(layout + "tensor_model_parallel_size", "ds.tensor_parallel_size");
    c.set_from(layout + "context_parallel_size", "ds.ring_attn_size");
  }
  set_zero_stage(c, "ds.zero_stage", {"actor_train"});
  c.set("actor_train.model_args.disable_gradient_checkpointing", negated(c.text("model.gradient_checkpointing_enable")),
        c.origin("model.gradient_checkpointing_enable"));
  set_adapters(c, {"actor_train"},
               {"ds.lora.rank", "ds.lora.alpha", "ds.lora.target_modules", "ds.lora.dropout", "ds.load_in_4bit"},
               asks_for_rank(c, "ds.lora.rank"));
}

/// OpenRLHF puts text prompts into a template.
void refuse_template(const Conversion& c, const char* default_template) {
  const std::string text = c.is_set("data.input_template") ? c.text("data.input_template") : default_template;
  if (!text.empty() && text != "{}")
    throw c.refused("data.input_template", fmt::format("OpenRLHF puts prompts into '{}'; write that into the rows, and "
                                                       "give --data.input_template null after the file",
                                                       text == default_template ? "User: {}\\nAssistant: " : text));
}

void combine_sft(Conversion& c) {
  combine_run(c, "2", {"actor_train"});
  combine_optimizer(c, "5e-6");
  c.set("sequence_length", c.is_set("data.max_len") ? c.text("data.max_len") : "2048", c.origin("data.max_len"));
  const bool is_chat = c.is_true("data.apply_chat_template");
  const std::string data = "actor_train.data_args.";
  if (c.text("data.output_key").empty()) {
    if (!is_chat)
      throw c.refused("data.output_key", "training on whole texts is not converted; give rows {\"text\": ...}");
    if (!c.is_true("data.multiturn"))
      throw c.refused("data.multiturn",
                      "OpenRLHF trains on the last answer of a conversation, roll on all answers: write the last one "
                      "to a column, and give --data.output_key, or give --data.multiturn");
    c.set_from(data + "messages", "data.input_key");
  } else {
    if (!is_chat) refuse_template(c, "User: {}\nAssistant: ");
    c.set_from(data + (is_chat ? "question" : "prompt"), "data.input_key");
    c.set_from(data + "response", "data.output_key");
  }
  c.draft.rename("actor_train.", "sft_train.");
  set_learnt_rows(c, "sft_train");
}

void combine_dpo(Conversion& c) {
  combine_run(c, "1", {"actor_train", "reference"});
  combine_optimizer(c, "1e-5");
  c.set("sequence_length", c.is_set("data.max_len") ? c.text("data.max_len") : "512", c.origin("data.max_len"));
  c.set_from("beta", "model.beta");
  c.set("ipo", c.is_true("model.ipo_enable") ? "true" : "false", c.origin("model.ipo_enable"));
  if (!c.is_true("model.ipo_enable")) c.set_from("label_smoothing", "model.label_smoothing");
  c.set_from("chosen_key", "data.chosen_key");
  c.set_from("rejected_key", "data.rejected_key");
  const std::string prompt = c.text("data.prompt_key");
  const bool is_chat = c.is_true("data.apply_chat_template");
  if (!is_chat && !prompt.empty()) refuse_template(c, "");
  if (!prompt.empty())
    c.set_from(std::string("actor_train.data_args.") + (is_chat ? "messages" : "prompt"), "data.prompt_key");
  if (!c.text("ref.model_name_or_path").empty())
    c.set_from("reference.model_args.model_name_or_path", "ref.model_name_or_path");
  if (const DraftKey* devices = c.draft.find("actor_train.device_mapping"))
    c.set("reference.device_mapping", std::string(devices->value), "the policy's");
  set_learnt_rows(c, "actor_train");
}

}  // namespace
}  // namespace openrlhf_rows

const ForeignTrainer& openrlhf_sft_trainer() {
  static const ForeignTrainer trainer{"openrlhf-sft", "sft", openrlhf_rows::kRows, openrlhf_rows::combine_sft};
  return trainer;
}

const ForeignTrainer& openrlhf_dpo_trainer() {
  static const ForeignTrainer trainer{"openrlhf-dpo", "dpo", openrlhf_rows::kRows, openrlhf_rows::combine_dpo};
  return trainer;
}

}  // namespace roll
