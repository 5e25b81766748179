#include "model/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "checkpoint/base_folder.h"
#include "checkpoint/hf_folder.h"
#include "model/features.h"
#include "model/model_folder.h"
#include "model/spec.h"
#include "model/weights.h"

namespace roll {

namespace {

// Keys of config.json that do not change the computation, or that parse_spec() reads.
constexpr const char* kKnownKeys[] = {"_name_or_path",
                                      "add_cross_attention",
                                      "architectures",
                                      "attention_bias",
                                      "attention_dropout",
                                      "attention_k_eq_v",
                                      "attention_multiplier",
                                      "attn_logit_softcapping",
                                      "auto_map",
                                      "bos_token_id",
                                      "cache_implementation",
                                      "decoder_sparse_step",
                                      "dtype",
                                      "embd_pdrop",
                                      "embedding_multiplier",
                                      "enable_moe_block",
                                      "eos_token_id",
                                      "final_logit_softcapping",
                                      "first_k_dense_replace",
                                      "full_attention_interval",
                                      "global_head_dim",
                                      "head_dim",
                                      "hidden_act",
                                      "hidden_activation",
                                      "hidden_size",
                                      "hidden_size_per_layer_input",
                                      "id2label",
                                      "initializer_range",
                                      "intermediate_size",
                                      "label2id",
                                      "layer_types",
                                      "linear_conv_kernel_dim",
                                      "linear_key_head_dim",
                                      "linear_num_key_heads",
                                      "linear_num_value_heads",
                                      "linear_value_head_dim",
                                      "logits_scaling",
                                      "max_position_embeddings",
                                      "max_window_layers",
                                      "mlp_bias",
                                      "mlp_only_layers",
                                      "model_type",
                                      "moe_intermediate_size",
                                      "n_group",
                                      "n_routed_experts",
                                      "n_shared_experts",
                                      "no_rope_layer_interval",
                                      "no_rope_layers",
                                      "norm_topk_prob",
                                      "num_attention_heads",
                                      "num_experts",
                                      "num_experts_per_tok",
                                      "num_global_key_value_heads",
                                      "num_hidden_layers",
                                      "num_key_value_heads",
                                      "num_kv_shared_layers",
                                      "num_labels",
                                      "num_local_experts",
                                      "num_nextn_predict_layers",
                                      "original_max_position_embeddings",
                                      "pad_token_id",
                                      "partial_rotary_factor",
                                      "per_layer_config",
                                      "pretraining_tp",
                                      "qkv_bias",
                                      "quantization_config",
                                      "query_pre_attn_scalar",
                                      "resid_pdrop",
                                      "residual_multiplier",
                                      "rms_norm_eps",
                                      "rope_local_base_freq",
                                      "rope_parameters",
                                      "rope_scaling",
                                      "rope_theta",
                                      "routed_scaling_factor",
                                      "shared_expert_intermediate_size",
                                      "sliding_window",
                                      "sliding_window_pattern",
                                      "text_config",
                                      "tie_word_embeddings",
                                      "tokenizer_class",
                                      "top_k_experts",
                                      "topk_group",
                                      "torch_dtype",
                                      "transformers_version",
                                      "use_bidirectional_attention",
                                      "use_cache",
                                      "use_double_wide_mlp",
                                      "use_qk_norm",
                                      "use_sliding_window",
                                      "vocab_size",
                                      "vocab_size_per_layer_input"};

/// Number of tensors per name pattern: "model.layers.11.mlp.up_proj.weight" counts for
/// "model.layers.*.mlp.up_proj.weight".
using Patterns = std::map<std::string, int64_t>;

std::string name_pattern(const std::string& name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto is_digit = [&](size_t at) { return std::isdigit(static_cast<unsigned char>(name[at])) != 0; };
    if (!is_digit(i) || (i > 0 && name[i - 1] != '.' && !is_digit(i - 1)))
      pattern += name[i];
    else if (pattern.empty() || pattern.back() != '*')
      pattern += '*';
  }
  return pattern;
}

Patterns spec_patterns(const ModelSpec& spec) {
  Patterns found;
  for (const ParameterShape& parameter : in_folder(policy_parameters(spec))) ++found[name_pattern(parameter.name)];
  return found;
}

/// Returns the name patterns of a folder's tensors; empty if it has no weights.
Patterns folder_patterns(const std::filesystem::path& folder) {
  Patterns found;
  try {
    const HfFolder opened = HfFolder::open(folder);
    for (const TensorEntry& entry : opened.entries())
      if (!is_derived_buffer(entry.name)) ++found[name_pattern(entry.name)];
  } catch (const UserError&) {
    // config.json suffices for the report.
  }
  return found;
}

/// Returns the notes of a folder with weights; else none.
std::vector<std::string> notes_or_none(const std::filesystem::path& folder) {
  try {
    return folder_notes(folder);
  } catch (const UserError&) {
    return {};
  }
}

std::vector<std::string> difference(const Patterns& patterns, const Patterns& skipped) {
  std::vector<std::string> left;
  for (const auto& [pattern, count] : patterns)
    if (!skipped.contains(pattern)) left.push_back(count > 1 ? fmt::format("{} ({})", pattern, count) : pattern);
  return left;
}

std::string join_names(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string gigabytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g} MB", bytes / 1e6) : fmt::format("{:.3g} GB", bytes / 1e9);
}

std::string describe(const ModelSpec& spec) {
  const auto parameters = static_cast<double>(spec.num_parameters());
  const LayerCost cost = layer_cost(spec.layers());
  int64_t sliding = 0;
  for (const char slides : spec.slides) sliding += slides != 0;
  std::string text = fmt::format("architecture: {} ({})\n", spec.architecture->name, spec.architecture->causal_class);
  text += fmt::format(
      "layers: {}, each with {} query heads over {} key/value heads of size {}, and an MLP of size {}; hidden size "
      "{}\n",
      spec.num_layers, spec.num_heads, spec.num_kv_heads, spec.head_dim, spec.intermediate_size, spec.hidden_size);
  if (sliding > 0) text += fmt::format("window: {} tokens in {} of the layers\n", spec.window, sliding);
  if (spec.full_heads)
    text += fmt::format("layers without a window: {} query heads over {} key/value heads of size {}{}\n",
                        spec.num_heads, spec.full_heads->num_kv_heads, spec.full_heads->head_dim,
                        spec.full_heads->keys_are_values ? ", whose keys are also their values" : "");
  if (spec.keyless_layers > 0)
    text += fmt::format("the last {} layers read the keys and values of the last earlier layer of their type\n",
                        spec.keyless_layers);
  if (spec.layer_inputs) text += fmt::format("per-layer inputs: {} elements per token\n", spec.layer_inputs->width);
  if (spec.delta) {
    const DeltaSpec& d = *spec.delta;
    text += fmt::format(
        "gated delta nets: in {} of the layers, {} value heads of size {} over {} key heads of size {}, after a "
        "convolution of {} tokens; states {} per sequence\n",
        std::ranges::count_if(spec.recurs, [](char recurs) { return recurs != 0; }), d.value_heads, d.value_dim,
        d.key_heads, d.key_dim, d.kernel, gigabytes(4.0 * static_cast<double>(cost.states)));
  }
  if (spec.architecture->is_multimodal)
    text += "weights of other parts (vision, for example) are kept and saved unchanged\n";
  text += fmt::format("features beyond Llama's: {}\n", join_names(feature_names(layer_features(spec))));
  text += fmt::format("longest sequence: {} tokens", spec.most_positions());
  if (spec.most_positions() > spec.max_positions)
    text += fmt::format(
        "; RoPE uses short_factor in runs of up to {} tokens, the original context, and long_factor in longer ones",
        spec.max_positions);
  text += "\n";
  text += fmt::format("parameters: {}\n", spec.num_parameters());
  text += fmt::format("memory in 16 bits: weights {}, KV cache {} per 1000 tokens; training with AdamW {}\n",
                      gigabytes(2 * parameters), gigabytes(2000.0 * static_cast<double>(cost.cached)),
                      gigabytes(16 * parameters));
  return text;
}

/// Returns a spec of the known architecture with the most similar tensors, using config.json's values.
std::optional<ModelSpec> nearest_spec(const Json& config, const Patterns& found_patterns) {
  std::optional<ModelSpec> best;
  size_t least = 0;
  for (const Architecture& row : architectures()) {
    Json as_row = config;
    as_row["model_type"] = row.name;
    for (const char* key : {"layer_types", "rope_scaling", "rope_parameters", "quantization_config"}) as_row.erase(key);
    try {
      const ModelSpec spec = parse_spec(as_row, row.name);
      const Patterns known_patterns = spec_patterns(spec);
      const size_t distance =
          difference(found_patterns, known_patterns).size() + difference(known_patterns, found_patterns).size();
      if (!best || distance < least) {
        best = spec;
        least = distance;
      }
    } catch (const UserError&) {
      // This config.json does not fit the architecture.
    }
  }
  return best;
}

std::string describe_unknown(const Json& config, const std::filesystem::path& folder, const std::string& reason) {
  std::string text = fmt::format("not supported: {}\n", reason);
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items())
    if (std::ranges::find(kKnownKeys, key, [](const char* known) { return std::string(known); }) ==
        std::end(kKnownKeys))
      keys.push_back(key);
  text += fmt::format("keys of config.json that roll does not read: {}\n", join_names(keys));
  const Patterns found_patterns = folder_patterns(folder);
  const std::optional<ModelSpec> nearest = found_patterns.empty() ? std::nullopt : nearest_spec(config, found_patterns);
  if (!nearest) return text + (found_patterns.empty() ? "the folder has no weights to compare\n" : "");
  const Patterns known_patterns = spec_patterns(*nearest);
  text += fmt::format("nearest architecture: {}\n", nearest->architecture->name);
  text += fmt::format("tensors that only the folder has: {}\n", join_names(difference(found_patterns, known_patterns)));
  text += fmt::format("tensors that only this architecture has: {}\n",
                      join_names(difference(known_patterns, found_patterns)));
  return text;
}

}  // namespace

Inspection inspect_folder(const std::filesystem::path& folder) {
  const std::filesystem::path base = base_folder(folder);
  const Json config = HfFolder::read_config(base);
  try {
    std::string text = describe(read_spec(folder));
    for (const std::string& note : notes_or_none(folder)) text += "note: " + note + "\n";
    return {text, true};
  } catch (const UserError& e) {
    return {describe_unknown(config, base, e.what()), false};
  }
}

}  // namespace roll
