#include "convert/verl_adapters.h"

#include "convert/adapters.h"

namespace roll {

void set_verl_mtp(Conversion& c, const std::string& model, const char* role) {
  const std::string group = model + "mtp.";
  const bool trains = c.is_true(group + "enable") && c.is_true(group + "enable_train");
  const bool is_alone = c.is_true(group + "detach_encoder");
  if (!trains) return;
  set_mtp(c, role, (group + "mtp_loss_scaling_factor").c_str());
  if (!is_alone)
    c.differs(std::string(role) +
              ": in verl the loss of the multi-token-prediction head also changes the policy (unless detach_encoder is "
              "true); in roll it trains the head alone");
}

void set_verl_adapters(Conversion& c, const std::string& model, const char* role) {
  const std::string group = model + "lora.";
  const bool has_rank = asks_for_rank(c, model + "lora_rank"), is_megatron = asks_for_rank(c, group + "rank");
  if (has_rank && is_megatron)
    throw c.refused(group + "rank",
                    "lora_rank is given too; one is for FSDP, one for Megatron: set the unused one to 0");
  if (!has_rank && !is_megatron) return;
  const std::string excluded = (is_megatron ? group : model) + "exclude_modules";
  if (!split_entries(c.text(excluded)).empty())
    throw c.refused(excluded, "excluding modules is not supported; name those with adapters in target_modules");
  if (!is_megatron)
    return set_adapters(c, {role}, {model + "lora_rank", model + "lora_alpha", model + "target_modules", "", ""}, true);
  const std::string type = c.text(group + "type");
  if (type != "lora" && type != "canonical_lora" && type != "dora")
    throw c.refused(group + "type", "not a supported type; use lora, canonical_lora or dora");
  if (c.number(group + "dropout") != 0 && c.text(group + "dropout_position") != "pre")
    throw c.refused(group + "dropout_position",
                    "dropout of the adapters' output is not supported; give pre, for dropout of their input");
  set_adapters(c, {role}, {group + "rank", group + "alpha", group + "target_modules", group + "dropout", ""}, true);
  if (type == "dora") c.set(std::string(role) + ".model_args.use_dora", "true", c.origin(group + "type"));
  const std::string targets = c.text(group + "target_modules");
  const bool is_fused = targets.find("linear_qkv") != targets.npos || targets.find("linear_fc1") != targets.npos;
  if (type != "canonical_lora" && is_fused)
    c.differs(std::string(role) +
              ": in verl the adapters of a fused module (linear_qkv, linear_fc1) share their first matrix; in roll "
              "q_proj, k_proj, v_proj, gate_proj and up_proj each have their own");
}

}  // namespace roll
