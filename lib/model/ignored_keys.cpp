// Finds keys of config.json that a model's architecture ignores, for notes to users (model_folder.h).
#include "model/model_folder.h"

namespace roll {

namespace {

/// A key without effect; it is worth a note unless its value is the usual one.
struct IdleKey {
  const char* name;
  Json usual;
};

/// Returns the keys that this architecture ignores, as in transformers (tests/oracles/check_config_keys.py).
std::vector<IdleKey> idle_keys(const ModelSpec& spec) {
  const Architecture& row = *spec.architecture;
  std::vector<IdleKey> idle;
  const auto add = [&](bool is_idle, const char* name, const Json& usual) {
    if (is_idle) idle.push_back({name, usual});
  };
  add(!row.rope.allows_partial && spec.rope.kind != RopeKind::kProportional, "partial_rotary_factor", 1.0);
  add(row.full_heads, "rope_theta", nullptr);
  add(row.local_theta == 0, "rope_local_base_freq", nullptr);
  const auto reads = [&](const std::string_view key) {
    const auto by = [&](Bias bias, const char* name) {
      return (bias == Bias::kByConfig || bias == Bias::kUsually) && key == name;
    };
    return by(row.qkv_bias, row.bias_keys.qkv) || by(row.o_bias, row.bias_keys.o) ||
           by(row.mlp_bias, row.bias_keys.mlp);
  };
  for (const char* name : {"attention_bias", "qkv_bias"}) add(!reads(name), name, spec.qkv_bias);
  add(!reads("mlp_bias"), "mlp_bias", spec.mlp_bias);
  for (const char* name : {"attention_dropout", "residual_dropout"}) add(row.ignores_dropout, name, 0);
  add(!row.optional_qk_norm, "use_qk_norm", spec.qk_norm);
  add(row.windows == Windows::kNone, "use_sliding_window", false);
  add(row.no_rope != NoRope::kListed, "no_rope_layers", Json::array());
  add(row.usual_score_cap == 0, "attn_logit_softcapping", nullptr);
  add(!row.query_scalar && !row.unit_scores, "final_logit_softcapping", nullptr);
  add(!row.query_scalar, "query_pre_attn_scalar", nullptr);
  for (const char* name : {"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"})
    add(!row.multipliers, name, 1.0);
  add(!row.has_bidirectional_key, "use_bidirectional_attention", false);
  add(row.always_renormalises, "norm_topk_prob", true);
  add(row.fixed_mixture, "decoder_sparse_step", 1);
  add(row.fixed_mixture, "mlp_only_layers", Json::array());
  return idle;
}

}  // namespace

std::vector<std::string> ignored_keys(const Json& whole, const std::string& origin, const ModelSpec& spec) {
  const bool has_text = spec.architecture->is_multimodal && whole.contains("text_config");
  const Json& config = has_text ? whole["text_config"] : whole;
  std::vector<std::string> notes;
  const auto note = [&](const std::string& key, const Json& value) {
    const bool is_dropout = key.ends_with("_dropout");
    notes.push_back(fmt::format(
        "{}: {} = {} is ignored{}", origin, key, to_line(value),
        is_dropout ? std::string(": roll trains without dropout")
                   : fmt::format(", as in transformers: {} models do not have this option", spec.architecture->name)));
  };
  const auto look_in = [&](const Json& object, const std::string& prefix, const IdleKey& key) {
    const auto found = object.find(key.name);
    if (found != object.end() && !found->is_null() && *found != key.usual) note(prefix + key.name, *found);
  };
  for (const IdleKey& key : idle_keys(spec)) {
    look_in(config, "", key);
    if (std::string_view(key.name) != "partial_rotary_factor") continue;
    for (const char* name : {"rope_parameters", "rope_scaling"})
      if (config.contains(name) && config[name].is_object()) look_in(config[name], fmt::format("{}: ", name), key);
  }
  const std::string other =
      std::string_view(spec.architecture->activation_key) == "hidden_act" ? "hidden_activation" : "hidden_act";
  const auto written = hf_config(spec);
  if (config.contains(other) && !config[other].is_null() && config[other] != written["hidden_act"])
    note(other, config[other]);
  if (spec.slides.empty() && config.contains("layer_types") && config["layer_types"].is_array() &&
      std::ranges::find(config["layer_types"], Json("sliding_attention")) != config["layer_types"].end())
    note("layer_types", config["layer_types"]);
  if (config.contains("rope_scaling") && !config["rope_scaling"].empty() && config.contains("rope_parameters") &&
      !config["rope_parameters"].empty())
    notes.push_back(
        fmt::format("{}: rope_parameters is ignored, as in transformers, because rope_scaling is set, too", origin));
  return notes;
}

}  // namespace roll
