#include "convert/verl_adapters.h"

#include "convert/adapters.h"

namespace roll {

void set_verl_adapters(Conversion& c, const std::string& model, const char* role) {
  const std::string group = model + "lora.";
  const bool has_rank = asks_for_rank(c, model + "lora_rank"), is_megatron = asks_for_rank(c, group + "rank");
  if (has_rank && is_megatron)
    throw c.refused(group + "rank", "lora_rank is given too; one is FSDP's, one Megatron's: set the other to 0");
  if (!has_rank && !is_megatron) return;
  const std::string excluded = (is_megatron ? group : model) + "exclude_modules";
  if (!split_entries(c.text(excluded)).empty())
    throw c.refused(excluded, "modules without adapters; name those that have some as target_modules");
  if (!is_megatron)
    return set_adapters(c, {role}, {model + "lora_rank", model + "lora_alpha", model + "target_modules", "", ""}, true);
  const std::string type = c.text(group + "type");
  if (type != "lora" && type != "canonical_lora" && type != "dora")
    throw c.refused(group + "type", "adapters that are not here; lora, canonical_lora and dora are");
  if (c.number(group + "dropout") != 0 && c.text(group + "dropout_position") != "pre")
    throw c.refused(group + "dropout_position", "a dropout of what adapters give; here it is one of their inputs: pre");
  set_adapters(c, {role}, {group + "rank", group + "alpha", group + "target_modules", group + "dropout", ""}, true);
  if (type == "dora") c.set(std::string(role) + ".model_args.use_dora", "true", c.origin(group + "type"));
  const std::string targets = c.text(group + "target_modules");
  const bool is_fused = targets.find("linear_qkv") != targets.npos || targets.find("linear_fc1") != targets.npos;
  if (type != "canonical_lora" && is_fused)
    c.differs(std::string(role) +
              ": adapters of a fused product (linear_qkv, linear_fc1) share their first matrix there; here q_proj, "
              "k_proj, v_proj, gate_proj and up_proj have each their own");
}

}  // namespace roll
