#include "convert/distillation.h"

#include <string_view>

namespace roll {

void set_distillation(Conversion& c, const Distillation& distillation) {
  c.set(distillation.is_pure ? "is_pure_opd" : "use_opd", "true", distillation.origin);
  c.set("opd_kl_coef", distillation.weight, distillation.origin);
  c.set("kl_penalty", distillation.estimate, distillation.origin);
  c.set("enable_old_logprobs_recompute", "true", "the source computes the KL from the trainer's log-probs");
  if (distillation.is_pure)
    for (const char* reward_key : {"adv_estimator", "norm_mean_type", "norm_std_type", "whiten_advantages"})
      c.draft.remove(reward_key);
  constexpr std::string_view kReference = "reference.";
  for (const std::string& path : c.draft.paths())
    if (path.starts_with(kReference) && !path.ends_with("_train"))
      c.set("teacher." + path.substr(kReference.size()), std::string(c.draft.find(path)->value), "as the policy's");
  const bool is_named = !distillation.teacher.empty();
  c.set("teacher.model_args.model_name_or_path", is_named ? distillation.teacher : "set-me/to-a-model-folder",
        is_named ? distillation.teacher_origin : "not given: set it");
  if (!is_named) c.differs("teacher.model_args.model_name_or_path: was not given; set it");
  c.differs("teacher: it runs on the policy's ranks; change this with teacher.device_mapping");
}

}  // namespace roll
