#include "convert/verl_distillation.h"

#include <string>
#include <vector>

#include "convert/distillation.h"

#define ACTOR "actor_rollout_ref.actor."
#define DISTILL "distillation.distillation_loss."
#define TEACHERS "distillation.teacher_models."

namespace roll {

/// With use_policy_gradient, a token's advantage is its (bounded) part of the KL at the weights of the update; with one
/// update per step these are the weights that sampled.
void combine_verl_distillation(Conversion& c) {
  if (!c.is_true("distillation.enabled")) return;
  if (!c.is_true(DISTILL "use_policy_gradient"))
    throw c.refused(DISTILL "use_policy_gradient",
                    "a gradient through the KL is not supported; is_pure_opd uses a policy gradient");
  const std::string estimate = c.text(DISTILL "loss_mode"), most = c.text(DISTILL "loss_max_clamp");
  if (estimate != "k1" && estimate != "kl")
    throw c.refused(DISTILL "loss_mode", "not a supported KL to the teacher; use k1");
  if (c.text(DISTILL "policy_loss_mode") != "vanilla")
    throw c.refused(DISTILL "policy_loss_mode", "not a supported policy loss for the teacher's KL; use vanilla");
  if (c.count("data.train_batch_size") != c.count(ACTOR "ppo_mini_batch_size") || c.count(ACTOR "ppo_epochs") != 1)
    throw c.refused(ACTOR "ppo_mini_batch_size",
                    "verl recomputes the KL for each of several updates of a step, roll computes it once per step: "
                    "give the same as data.train_batch_size");
  const bool is_pure = !c.is_true(DISTILL "use_task_rewards");
  if (!most.empty() && !is_pure)
    throw c.refused(DISTILL "loss_max_clamp", "a bound on the KL beside rewards is not supported");
  if (!most.empty()) c.set_from("advantage_clip", DISTILL "loss_max_clamp");
  if (is_pure) c.set("use_kl_loss", "false", "the loss is the teacher's KL alone");
  if (is_pure && c.number(ACTOR "entropy_coeff") != 0)
    c.set("entropy_loss_coef", "0", "the loss is the teacher's KL alone");
  std::vector<std::string> models = c.keys_with_prefix(TEACHERS);
  std::erase_if(models, [](const std::string& key) { return !key.ends_with(".model_path"); });
  if (models.size() > 1)
    throw c.refused(
        models[1], "several teachers are not converted; in roll teacher.NAME.tag_included selects each teacher's rows");
  set_distillation(c, {.is_pure = is_pure,
                       .teacher = models.empty() ? "" : c.text(models[0]),
                       .teacher_origin = models.empty() ? "" : c.origin(models[0]),
                       .weight = is_pure ? "1" : c.text(DISTILL "distillation_loss_coef"),
                       .origin = c.origin("distillation.enabled")});
}

}  // namespace roll
