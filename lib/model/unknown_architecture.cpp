#include "model/unknown_architecture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "checkpoint/hf_folder.h"
#include "model/spec.h"
#include "model/weights.h"

namespace roll {

namespace {

// Keys of config.json that do not change the computation, or that parse_spec() reads.
constexpr const char* kKnownKeys[] = {"_name_or_path",
                                      "add_cross_attention",
                                      "alpha",
                                      "architectures",
                                      "attention_bias",
                                      "attention_dropout",
                                      "attention_k_eq_v",
                                      "attention_multiplier",
                                      "attention_out_bias",
                                      "attn_logit_softcapping",
                                      "auto_map",
                                      "bias",
                                      "bos_token_id",
                                      "cache_implementation",
                                      "decoder_sparse_step",
                                      "dtype",
                                      "embd_pdrop",
                                      "embedding_multiplier",
                                      "enable_moe_block",
                                      "eod_token_id",
                                      "eos_token_id",
                                      "experts_per_token",
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
                                      "image_token_id",
                                      "image_token_index",
                                      "initial_context_length",
                                      "initializer_range",
                                      "intermediate_size",
                                      "kv_lora_rank",
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
                                      "mlp_layer_types",
                                      "mlp_only_layers",
                                      "model_type",
                                      "moe_intermediate_size",
                                      "moe_layer_freq",
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
                                      "num_mtp_layers",
                                      "num_nextn_predict_layers",
                                      "original_max_position_embeddings",
                                      "pad_token_id",
                                      "partial_rotary_factor",
                                      "per_layer_config",
                                      "pretraining_tp",
                                      "q_lora_rank",
                                      "qk_head_dim",
                                      "qk_nope_head_dim",
                                      "qk_rope_head_dim",
                                      "qkv_bias",
                                      "quantization_config",
                                      "query_pre_attn_scalar",
                                      "resid_pdrop",
                                      "residual_dropout",
                                      "residual_multiplier",
                                      "rms_norm_eps",
                                      "rope_interleave",
                                      "rope_local_base_freq",
                                      "rope_parameters",
                                      "rope_scaling",
                                      "rope_theta",
                                      "rotary_dim",
                                      "routed_scaling_factor",
                                      "scoring_func",
                                      "shared_expert_intermediate_size",
                                      "sliding_window",
                                      "sliding_window_pattern",
                                      "swiglu_alpha",
                                      "swiglu_limit",
                                      "text_config",
                                      "tie_word_embeddings",
                                      "tokenizer_class",
                                      "top_k_experts",
                                      "topk_group",
                                      "topk_method",
                                      "torch_dtype",
                                      "transformers_version",
                                      "use_bias",
                                      "use_bidirectional_attention",
                                      "use_cache",
                                      "use_double_wide_mlp",
                                      "use_qk_norm",
                                      "use_sliding_window",
                                      "v_head_dim",
                                      "video_token_id",
                                      "vision_config",
                                      "vision_end_token_id",
                                      "vision_start_token_id",
                                      "vocab_size",
                                      "vocab_size_per_layer_input"};

/// Tensors whose names have the same pattern: "model.layers.11.mlp.up_proj.weight" has
/// "model.layers.*.mlp.up_proj.weight".
struct Tensors {
  int64_t count = 0;
  std::vector<int64_t> shape = {};  // the first one's
};
using Patterns = std::map<std::string, Tensors>;
using NamedShape = std::pair<std::string, std::vector<int64_t>>;

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

Patterns patterns(const std::vector<NamedShape>& tensors) {
  Patterns found;
  for (const auto& [name, shape] : tensors) {
    Tensors& same = found[name_pattern(name)];
    if (same.count++ == 0) same.shape = shape;
  }
  return found;
}

/// Returns the names and shapes of a folder's tensors; none if it has no weights.
std::vector<NamedShape> tensor_shapes(const std::filesystem::path& folder) {
  std::vector<NamedShape> names;
  try {
    const HfFolder opened = HfFolder::open(folder);
    for (const TensorEntry& entry : opened.entries())
      if (!is_derived_buffer(entry.name)) names.emplace_back(entry.name, entry.shape);
  } catch (const UserError&) {
    // config.json suffices for the report.
  }
  return names;
}

std::vector<std::string> difference(const Patterns& all, const Patterns& skipped) {
  std::vector<std::string> left;
  for (const auto& [pattern, same] : all)
    if (!skipped.contains(pattern))
      left.push_back(same.count > 1 ? fmt::format("{} ({})", pattern, same.count) : pattern);
  return left;
}

/// Returns the patterns whose tensors have other shapes in the other list.
std::vector<std::string> reshaped(const Patterns& found, const Patterns& known) {
  std::vector<std::string> list;
  for (const auto& [pattern, same] : found)
    if (const auto other = known.find(pattern); other != known.end() && other->second.shape != same.shape)
      list.push_back(
          fmt::format("{} {} instead of {}", pattern, shape_text(same.shape), shape_text(other->second.shape)));
  return list;
}

/// Differences between the tensors of a folder and those of a known architecture with the folder's config.json.
struct Comparison {
  std::string name;
  std::vector<std::string> only_in_folder, only_in_model, other_shapes;

  size_t distance() const { return only_in_folder.size() + only_in_model.size() + other_shapes.size(); }
};

Comparison compare(const Json& config, const Architecture& row, const std::vector<NamedShape>& tensors) {
  const ModelSpec spec = parse_spec(config, row.name);
  std::vector<NamedShape> model, found;
  for (const ParameterShape& parameter : in_folder(policy_parameters(spec)))
    model.emplace_back(parameter.name, parameter.shape);
  for (const auto& [stored, shape] : tensors)
    if (const std::string name = known_name(row.other_prefixes, stored); !is_kept(spec, name))
      found.emplace_back(name, shape);
  const Patterns known_patterns = patterns(model), found_patterns = patterns(found);
  return {row.name, difference(found_patterns, known_patterns), difference(known_patterns, found_patterns),
          reshaped(found_patterns, known_patterns)};
}

/// Changes a config.json into one of a known architecture. Its keys of layers and RoPE are left out.
Json as_row(Json config, const Architecture& row) {
  config["model_type"] = row.name;
  Json& text = row.is_multimodal && config.contains("text_config") ? config["text_config"] : config;
  if (!text.is_object()) return config;
  if (row.is_multimodal && !row.text_type.empty() && &text != &config) text["model_type"] = row.text_type;
  for (const char* key : {"layer_types", "rope_scaling", "quantization_config"}) text.erase(key);
  text["rope_parameters"] = Json::object();
  if (row.needs("layer_types") && text.value("num_hidden_layers", Json()).is_number_unsigned())
    text["layer_types"] = std::vector<std::string>(
        std::min<size_t>(text["num_hidden_layers"].get<size_t>(), SizeLimits::kLayers), "full_attention");
  return config;
}

std::optional<Comparison> nearest_row(const Json& config, const std::vector<NamedShape>& tensors,
                                      const Architectures& known) {
  std::optional<Comparison> best;
  for (const Architecture& row : known) {
    try {
      const Comparison found = compare(as_row(config, row), row, tensors);
      if (!best || found.distance() < best->distance()) best = found;
    } catch (const UserError&) {
      // This config.json does not fit the architecture.
    }
  }
  return best;
}

std::string list_names(std::vector<std::string> names) {
  constexpr size_t kShown = 8;
  const size_t num_hidden = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - num_hidden);
  if (names.empty()) return "none";
  return fmt::format("{}{}", fmt::join(names, ", "), num_hidden > 0 ? fmt::format(" and {} more", num_hidden) : "");
}

}  // namespace

std::string explain_unknown(const Json& config, const std::filesystem::path& folder, const Architectures& known) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items())
    if (std::ranges::find(kKnownKeys, std::string_view(key)) == std::end(kKnownKeys)) keys.push_back(key);
  std::string text = fmt::format("keys of config.json that roll does not read: {}\n", list_names(keys));
  const std::vector<NamedShape> tensors = tensor_shapes(folder);
  if (tensors.empty()) return text + "the folder has no weights to compare\n";
  const std::optional<Comparison> nearest = nearest_row(config, tensors, known);
  if (!nearest) return text + "config.json fits no architecture that roll supports\n";
  text += fmt::format("nearest architecture: {}\n", nearest->name);
  if (nearest->distance() == 0)
    return text + fmt::format("its tensors are the same; if it also computes the same, write model_type = {}\n",
                              nearest->name);
  text += fmt::format("tensors that only the folder has: {}\n", list_names(nearest->only_in_folder));
  text += fmt::format("tensors that only this architecture has: {}\n", list_names(nearest->only_in_model));
  if (nearest->other_shapes.empty()) return text;
  return text + fmt::format("tensors of other shapes: {}\n", list_names(nearest->other_shapes));
}

bool is_unknown(const Json& config, const Architectures& known) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() && !look_up_architecture(type->get<std::string>(), known);
}

void check_architecture(const Json& config, const std::filesystem::path& folder, const Architectures& known) {
  if (!is_unknown(config, known)) return;
  const auto type = config["model_type"].get<std::string>();
  std::vector<std::string> names;
  for (const Architecture& row : known) names.push_back(row.name);
  std::string text = explain_unknown(config, folder, known);
  text.pop_back();
  throw user_error("{}: model_type = {}: roll does not know this architecture{}\n{}", (folder / "config.json").string(),
                   type, did_you_mean(type, names), text);
}

}  // namespace roll
