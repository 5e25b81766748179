#include "convert/trl_adapters.h"

#include <fmt/ranges.h>

#include "convert/adapters.h"

namespace roll {

void set_trl_adapters(Conversion& c) {
  const bool wanted = c.is_true("use_peft");
  for (const std::string& key : c.keys_with_prefix("model_init_kwargs"))
    if (const std::string value = c.is_known(key) ? c.text(key) : "";
        decides_training(key) || decides_training(value) || value.find("load_in") != value.npos)
      throw c.refused(key,
                      "loading the weights in this way is not supported; give --model_init_kwargs None after the file, "
                      "and for quantised weights with adapters --load_in_4bit true");
  set_adapters(c, {"actor_train"}, {"lora_r", "lora_alpha", "lora_target_modules", "lora_dropout", "load_in_4bit"},
               wanted);
  const bool in_8_bits = c.is_true("load_in_8bit");
  if (in_8_bits && !wanted)
    throw c.refused("load_in_8bit",
                    "8-bit weights cannot be trained; train adapters (LoRA) on them, or load them in full precision");
  if (!wanted) return;
  const std::string args = "actor_train.model_args.";
  if (c.is_true("load_in_4bit") && c.text("bnb_4bit_quant_type") != "nf4")
    throw c.refused("bnb_4bit_quant_type", "must be nf4, the only supported 4-bit type");
  if (!split_entries(c.text("lora_target_parameters")).empty())
    throw c.refused("lora_target_parameters",
                    "single parameters are not supported; name modules with lora_target_modules");
  if (in_8_bits) {
    c.set(args + "quantise_base", "int8", c.origin("load_in_8bit"));
    c.differs("load_in_8bit: LLM.int8() also rounds activations, roll does not");
  }
  for (const char* key : {"use_rslora", "use_dora"})
    if (c.is_true(key)) c.set(args + key, "true", c.origin(key));
  if (const auto whole = split_entries(c.text("lora_modules_to_save")); !whole.empty())
    c.set(args + "additional_target", fmt::format("[{}]", fmt::join(whole, ", ")), c.origin("lora_modules_to_save"));
}

void set_trl_dtype(Conversion& c, Roles others) {
  const std::string type = c.text(c.is_set("dtype") ? "dtype" : "torch_dtype");
  if (c.is_true("fp16") || type == "float16")
    c.set("actor_train.model_args.dtype", "fp16", c.is_true("fp16") ? "fp16" : "dtype");
  else if (type != "float32" && c.is_true("bf16"))
    c.set("actor_train.model_args.dtype", "bf16", c.origin("bf16"));
  for (const char* role : others)
    if (const DraftKey* dtype = c.draft.find("actor_train.model_args.dtype"))
      c.set(std::string(role) + ".model_args.dtype", std::string(dtype->value), "as the policy's");
}

}  // namespace roll
