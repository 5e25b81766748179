#include "checkpoint/gguf/config_metadata.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/gguf/rope_scaling.h"

namespace roll::gguf {

namespace {

struct KeyRow {
  const char *stored, *config;  // `stored` follows the architecture's name and a dot
  bool is_count = false;
};

/// Keys with the same values in both formats.
constexpr KeyRow kSameKeys[] = {{"vocab_size", "vocab_size", true},
                                {"context_length", "max_position_embeddings", true},
                                {"embedding_length", "hidden_size", true},
                                {"block_count", "num_hidden_layers", true},
                                {"feed_forward_length", "intermediate_size", true},
                                {"attention.head_count", "num_attention_heads", true},
                                {"attention.head_count_kv", "num_key_value_heads", true},
                                {"attention.key_length", "head_dim", true},
                                {"attention.value_length", "head_dim", true},
                                {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                                {"rope.freq_base", "rope_theta"},
                                {"rope.freq_base_swa", "rope_local_base_freq"},
                                {"expert_count", "num_experts", true},
                                {"expert_used_count", "num_experts_per_tok", true},
                                {"expert_feed_forward_length", "moe_intermediate_size", true},
                                {"attn_logit_softcapping", "attn_logit_softcapping"},
                                {"final_logit_softcapping", "final_logit_softcapping"},
                                {"attention.scale", "attention_multiplier"},
                                {"embedding_scale", "embedding_multiplier"},
                                {"residual_scale", "residual_multiplier"},
                                {"logit_scale", "logits_scaling"}};

/// Architectures whose windows can be said.
const std::set<std::string> kWindowed = {"llama", "gemma2", "gemma3", "phi3", "olmo2", "gpt-oss"};

Json rope_scaling(const Json& config) {
  const Json scaling = config.value("rope_scaling", Json::object());
  return scaling.empty() ? config.value("rope_parameters", scaling) : scaling;
}

std::string rope_type(const Json& config) {
  return rope_scaling(config).value("rope_type", "");
}

void add_windows(const Json& config, const std::string& architecture, Metadata& metadata) {
  const Json window = config.value("sliding_window", Json());
  if (window.is_null() || !kWindowed.contains(architecture)) return;
  metadata.count(architecture + ".attention.sliding_window", window.get<int64_t>());
  if (architecture != "olmo2") return;
  std::vector<bool> slides;
  for (const Json& type : config.at("layer_types")) slides.push_back(type == "sliding_attention");
  metadata.flags(architecture + ".attention.sliding_window_pattern", slides);
  metadata.number(architecture + ".rope.freq_base_swa",
                  config.at("rope_parameters").at("sliding_attention").at("rope_theta").get<double>());
}

void add_rope(const Json& config, const std::string& architecture, Metadata& metadata) {
  const std::string prefix = architecture + ".rope.", scaling = prefix + "scaling.";
  const auto head_dim = config.at("head_dim").get<int64_t>();
  const double turned = static_cast<double>(head_dim) * config.value("partial_rotary_factor", 1.0);
  metadata.count(prefix + "dimension_count", std::llround(turned));
  const Json rope = rope_scaling(config);
  const std::string type = rope_type(config);
  if (type == "linear" || type == "yarn") {
    metadata.text(scaling + "type", type);
    metadata.number(scaling + "factor", rope.at("factor").get<double>());
  }
  if (type == "yarn" || type == "longrope")
    metadata.count(scaling + "original_context_length", rope.at("original_max_position_embeddings").get<int64_t>());
  if (type == "yarn") {
    metadata.number(scaling + "yarn_beta_fast", rope.at("beta_fast").get<double>());
    metadata.number(scaling + "yarn_beta_slow", rope.at("beta_slow").get<double>());
  }
  if (type == "longrope") metadata.number(scaling + "attn_factor", rope.at("attention_factor").get<double>());
}

}  // namespace

void add_config(const Json& config, const std::string& architecture, Metadata& metadata) {
  metadata.text("general.architecture", architecture);
  for (const KeyRow& row : kSameKeys) {
    const Json value = config.value(row.config, Json());
    if (value.is_null()) continue;
    const std::string key = architecture + "." + row.stored;
    row.is_count ? metadata.count(key, value.get<int64_t>()) : metadata.number(key, value.get<double>());
  }
  if (architecture == "gpt-oss")
    metadata.count("gpt-oss.expert_feed_forward_length", config.at("intermediate_size").get<int64_t>());
  add_windows(config, architecture, metadata);
  add_rope(config, architecture, metadata);
}

std::vector<std::pair<std::string, std::vector<float>>> rope_tensors(const Json& config,
                                                                     const std::string& architecture) {
  const Json rope = rope_scaling(config);
  const std::string type = rope_type(config);
  if (type == "longrope")
    return {{"rope_factors_long.weight", rope.at("long_factor").get<std::vector<float>>()},
            {"rope_factors_short.weight", rope.at("short_factor").get<std::vector<float>>()}};
  if (type != "llama3" || architecture != "llama") return {};
  const auto divisors =
      llama3_divisors({.factor = rope.at("factor").get<double>(),
                       .low = rope.at("low_freq_factor").get<double>(),
                       .high = rope.at("high_freq_factor").get<double>(),
                       .positions = static_cast<double>(rope.at("original_max_position_embeddings").get<int64_t>())},
                      config.at("rope_theta").get<double>(), config.at("head_dim").get<size_t>() / 2);
  return {{"rope_freqs.weight", std::vector<float>(divisors.begin(), divisors.end())}};
}

}  // namespace roll::gguf
