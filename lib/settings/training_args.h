// Keys of a role's optimizer and batch sizes (section training_args), with Hugging Face's names; fields() has their
// help texts. A mini-batch is the sequences of one update; each rank computes its share in micro-batches.
#pragma once

#include <cstdint>
#include <optional>

#include "config/keys.h"
#include "optim/muon.h"
#include "optim/schedule.h"

namespace roll {

/// Values of the key optimizer.
enum class OptimizerKind { kAdamW, kMuon };
constexpr auto enum_names(OptimizerKind) {
  return std::to_array<Named<OptimizerKind>>({{OptimizerKind::kAdamW, "adamw"}, {OptimizerKind::kMuon, "muon"}});
}

struct TrainingArgs {
  double learning_rate = 5e-5;
  double weight_decay = 0;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  MuonConfig muon;
  std::optional<int64_t> train_batch_size;
  int64_t per_device_train_batch_size = 8;
  int64_t gradient_accumulation_steps = 1;
  int64_t warmup_steps = 0;
  double warmup_ratio = 0;
  LrScheduleType lr_scheduler_type = LrScheduleType::kLinear;
  LrScheduleArgs lr_scheduler_kwargs;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  std::optional<int64_t> num_train_epochs;

  bool uses_muon() const { return optimizer == OptimizerKind::kMuon; }

  void fields(Keys& v) {
    // AdamW moves every weight by about this much an update, and the weights of language models are around 0.02.
    v("learning_rate", learning_rate,
      "peak learning rate: about how far an update moves each weight, with AdamW and with Muon", within(0, 0.1));
    v("weight_decay", weight_decay, "decoupled weight decay of matrices (not of norms and biases)", within(0, 1e41));
    v("optimizer", optimizer,
      "adamw, or muon: momentum is orthogonalised for the matrices of attention and MLPs (also of experts), and AdamW "
      "updates embeddings, heads, routers, norms and biases (configs/muon.md)");
    v("muon_momentum", muon.momentum, "Muon's decay of the gradient's mean (Nesterov)", from_below(0, 1),
      only_if(uses_muon(), optimizer));
    v("muon_num_ns_steps", muon.num_steps, "Muon's Newton-Schulz steps: more bring singular values nearer to 1",
      within(1, 99), only_if(uses_muon(), optimizer));
    v("train_batch_size", train_batch_size,
      "sequences of a mini-batch (one update) of all ranks together, so that any number of ranks makes the same "
      "updates; null: per_device_train_batch_size x gradient_accumulation_steps on each data-parallel rank, as in ROLL",
      sequence_range(), may_change());
    v("per_device_train_batch_size", per_device_train_batch_size,
      "sequences of a micro-batch; if train_batch_size is set, at most this many", sequence_range(), may_change());
    v("gradient_accumulation_steps", gradient_accumulation_steps,
      "micro-batches of a mini-batch on each rank; train_batch_size takes precedence if set", sequence_range(),
      may_change());
    v("warmup_steps", warmup_steps,
      "updates over which the learning rate rises from 0; the first update has rate 0, as in transformers",
      at_least(0));
    v("warmup_ratio", warmup_ratio, "warmup_steps as a share of all updates, rounded up; used when warmup_steps is 0",
      within(0, 1), only_if(warmup_steps == 0, warmup_steps));
    v("lr_scheduler_type", lr_scheduler_type,
      "learning rate after the warm-up, as in transformers; constant is constant_with_warmup");
    v("lr_scheduler_kwargs", lr_scheduler_kwargs, "arguments of lr_scheduler_type, as in transformers");
    v("adam_beta1", adam_beta1, "decay of the gradient's mean", from_below(0, 1));
    v("adam_beta2", adam_beta2, "decay of the gradient's square", from_below(0, 1));
    v("adam_epsilon", adam_epsilon, "added to the root of the gradient's square", within(1e-20, 1));
    v("num_train_epochs", num_train_epochs, "passes over the data: `roll sft` only; RLVR has it at the top level",
      round_range(), may_change());
    v.noted({"logging_steps", "save_steps", "eval_steps", "max_steps", "output_dir", "seed", "data_seed"},
            "the key at the top level decides");
    v.noted({"bf16", "fp16"}, "model_args.dtype decides");
    v.noted({"max_grad_norm"}, "max_grad_norm at the top level decides");
    v.noted({"optim"}, "the key optimizer decides");
    v.noted({"ddp_timeout", "dataloader_num_workers", "save_total_limit", "report_to", "per_device_eval_batch_size",
             "save_strategy", "remove_unused_columns"},
            "ROLL's own pipeline does not read it");
  }
};

}  // namespace roll
