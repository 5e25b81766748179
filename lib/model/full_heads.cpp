#include "model/full_heads.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

/// Reads per_layer_config: heads of all layers without a window, which must be alike; other layers use config.json's
/// own.
void read_layers(const ConfigReader& config, const ModelSpec& spec, FullHeads& heads) {
  const ConfigReader layers = config.object("per_layer_config");
  const Json& object = *config.find("per_layer_config");
  for (int64_t i = 0; !object.empty() && i < spec.num_layers; ++i) {
    const std::string number = fmt::format("{}", i);
    const bool is_full = !ModelSpec::is_marked(spec.slides, static_cast<size_t>(i));
    if (is_full != object.contains(number))
      config.fail("per_layer_config", "must list all layers of full_attention, and no others");
    if (is_full && object[number] != object.front())
      config.fail("per_layer_config", "must have the same head_dim and num_key_value_heads for all its layers");
    if (!is_full) continue;
    const ConfigReader layer = layers.object(number.c_str());
    for (const auto& [key, value] : object[number].items())
      if (key != "head_dim" && key != "num_key_value_heads")
        layer.fail(key.c_str(), "only head_dim and num_key_value_heads may differ between layers");
    heads.head_dim = layer.count("head_dim", SizeLimits::kHeadDim, spec.head_dim);
    heads.num_kv_heads = layer.count("num_key_value_heads", SizeLimits::kHeads, spec.num_kv_heads);
  }
}

}  // namespace

FullHeads read_full_heads(const ConfigReader& config, const ModelSpec& spec) {
  FullHeads heads = {spec.head_dim, spec.num_kv_heads, config.flag("attention_k_eq_v")};
  const char *size = "global_head_dim", *number = "num_global_key_value_heads";
  if (config.find("per_layer_config")) {
    read_layers(config, spec, heads);
    size = number = "per_layer_config";
  } else {
    heads.head_dim = config.count(size, SizeLimits::kHeadDim, 512);
    if (heads.keys_are_values) heads.num_kv_heads = config.count(number, SizeLimits::kHeads, spec.num_kv_heads);
  }
  if (heads.head_dim % 2 != 0) config.fail(size, "must be even, because rotary embeddings rotate pairs");
  if (spec.num_heads % heads.num_kv_heads != 0)
    config.fail(number, fmt::format("must divide num_attention_heads ({})", spec.num_heads));
  return heads;
}

void read_shared_parts(const ConfigReader& config, ModelSpec& spec) {
  const int64_t width = config.count("hidden_size_per_layer_input", SizeLimits::kHidden, 256, 0);
  if (width > 0) {
    const int64_t vocab = config.count("vocab_size_per_layer_input", SizeLimits::kVocab, 262144);
    if (vocab < spec.vocab_size)
      config.fail("vocab_size_per_layer_input", fmt::format("must be at least vocab_size ({})", spec.vocab_size));
    spec.layer_inputs = {.width = width, .vocab_size = vocab};
  }
  spec.keyless_layers = config.count("num_kv_shared_layers", spec.num_layers - 1, 0, 0);
  spec.widens_keyless = config.flag("use_double_wide_mlp");
  const int64_t num_own_layers = spec.num_layers - spec.keyless_layers;
  const auto is_full = [&](int64_t layer) { return !ModelSpec::is_marked(spec.slides, static_cast<size_t>(layer)); };
  for (int64_t i = num_own_layers, j = 0; i < spec.num_layers; ++i) {
    for (j = 0; j < num_own_layers && is_full(j) != is_full(i);) ++j;
    if (j == num_own_layers)
      config.fail("num_kv_shared_layers",
                  fmt::format("leaves layer {} without an earlier layer of its type whose keys it can read", i));
  }
}

void write_full_heads(const ModelSpec& spec, Json& config) {
  for (const char* key : {"rope_theta", "rope_scaling", "partial_rotary_factor", "rope_local_base_freq"})
    config.erase(key);
  config["rope_parameters"] = {{"full_attention", rope_object(spec.rope)},
                               {"sliding_attention", rope_object(spec.local_rope.value())}};
  const FullHeads& heads = *spec.full_heads;
  config.update({{"global_head_dim", heads.head_dim},
                 {"num_global_key_value_heads", heads.num_kv_heads},
                 {"attention_k_eq_v", heads.keys_are_values},
                 {"hidden_size_per_layer_input", spec.layer_inputs ? spec.layer_inputs->width : 0}});
  if (spec.layer_inputs) config["vocab_size_per_layer_input"] = spec.layer_inputs->vocab_size;
  if (spec.keyless_layers == 0) return;
  config["num_kv_shared_layers"] = spec.keyless_layers;
  config["use_double_wide_mlp"] = spec.widens_keyless;
}

}  // namespace roll
