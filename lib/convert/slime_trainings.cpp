#include "convert/slime_trainings.h"

#include <fmt/format.h>

#include "convert/distillation.h"
#include "convert/fine_tuning.h"
#include "convert/slime_objective.h"

namespace roll {

namespace {

constexpr const char* kFullyAsync = "slime.rollout.fully_async_rollout.generate_rollout_fully_async";

/// Returns true if the rewards are slime's own functions that ask a teacher server, so there is no other reward.
bool is_pure_distillation(const Conversion& c) {
  return c.is_true("use-opd") &&
         c.text("custom-rm-path").find("slime.rollout.on_policy_distillation") != std::string::npos;
}

}  // namespace

void combine_slime_distillation(Conversion& c) {
  const bool is_pure = is_pure_distillation(c);
  const std::string process = c.text("custom-reward-post-process-path");
  if (!process.empty() && !(is_pure && process.find("slime.rollout.on_policy_distillation") != process.npos))
    throw c.refused("custom-reward-post-process-path", "Python code cannot be converted");
  if (!is_pure && !c.text("custom-rm-path").empty())
    c.without.push_back(fmt::format("custom-rm-path = {}: {}: {}; rewards.<name>.type: python calls a function",
                                    c.text("custom-rm-path"), kNotSupported, "Python code cannot be converted"));
  if (!c.is_true("use-opd")) return;
  set_distillation(c, {.is_pure = is_pure,
                       .teacher = c.text("opd-teacher-load"),
                       .teacher_origin = c.origin("opd-teacher-load"),
                       .weight = c.text("opd-kl-coef"),
                       .origin = c.origin("use-opd")});
  if (c.is_set("opd-teacher-load"))
    c.differs("teacher: --opd-teacher-load names a Megatron folder; roll needs a Hugging Face folder");
}

void combine_slime_rollout(Conversion& c) {
  if (c.text("rollout-function-path") != kFullyAsync) return;
  if (c.is_true("colocate") || !c.is_set("rollout-num-gpus"))
    throw c.refused("rollout-function-path",
                    "samples during training, on separate GPUs; give --rollout-num-gpus, without --colocate");
  c.set("async_generation_ratio", "1", c.origin("rollout-function-path"));
  c.differs(
      "steps: slime's fully asynchronous rollout trains on finished responses of any age; roll samples one step ahead: "
      "change this with async_generation_ratio");
}

bool is_slime_fine_tuning(const Conversion& c) {
  const std::string rollout = c.text("rollout-function-path");
  const bool is_fine_tuning = rollout == "slime.rollout.sft_rollout.generate_rollout";
  const bool is_slime_rollout = rollout == kFullyAsync || rollout == "slime.rollout.sglang_rollout.generate_rollout";
  if (!rollout.empty() && !is_fine_tuning && !is_slime_rollout)
    throw c.refused("rollout-function-path", "a custom rollout function (agents) cannot be converted");
  if (c.text("loss-type") != (is_fine_tuning ? "sft_loss" : "policy_loss"))
    throw c.refused("loss-type", "not a supported loss; roll train trains on rewards, roll sft on responses");
  if (is_fine_tuning) return true;
  if (c.is_true("disable-compute-advantages-and-returns"))
    throw c.refused("disable-compute-advantages-and-returns", "training without advantages is not supported");
  if (c.is_true("debug-train-only"))
    throw c.refused(
        "debug-train-only",
        "slime's training on recorded responses is not converted; remove --debug-train-only, and in the converted "
        "configuration set the key rollout_replay to the folder of roll's recorded rollouts");
  return false;
}

void combine_slime_fine_tuning(Conversion& c) {
  c.command = "sft";
  set_slime_adapters(c);
  require_adam(c, "optimizer");
  set_last_rate(c, c.text("lr-decay-style"), "min-lr", false);
  const bool by_token = c.is_true("calculate-per-token-loss");
  c.draft.rename("actor_train.", "sft_train.");
  for (const std::string& path : c.draft.paths()) {
    const auto is_one_of = [&](auto... names) { return ((path == names) || ...); };
    if (!path.starts_with("sft_train.") &&
        !is_one_of("pretrain", "output_dir", "seed", "save_steps", "max_grad_norm", "offload"))
      c.draft.remove(path);
  }
  c.set("loss_agg_mode", by_token ? "token-mean" : "seq-mean-token-mean", c.origin("calculate-per-token-loss"));
  c.set_from("sft_train.data_args.messages", "input-key");
  const int64_t context = c.count("context-parallel-size");
  if (c.is_set("max-tokens-per-gpu"))
    c.set("sequence_length", fmt::format("{}", c.count("max-tokens-per-gpu") * context),
          c.origin("max-tokens-per-gpu"));
  c.differs(
      "length: slime trains on rows of any length; roll drops and counts rows longer than sequence_length: set it to "
      "the tokens of the longest row");
  const int64_t rows = c.count("rollout-batch-size"),
                update = c.is_set("global-batch-size") ? c.count("global-batch-size") : rows;
  if (c.is_set("num-rollout"))
    c.set("max_steps", fmt::format("{}", c.count("num-rollout") * rows / update), c.origin("num-rollout"));
  else
    c.set("num_train_epochs", fmt::format("{}", c.count("num-epoch")), c.origin("num-epoch"));
  set_learnt_rows(c, "sft_train");
}

}  // namespace roll
