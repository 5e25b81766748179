#include "model/known_shapes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/hub_cache.h"
#include "model/model_folder.h"

namespace roll {

namespace {

struct ShapeRow {
  const char* name;
  const char* model_type;
  int64_t vocab_size, hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim;
  bool tied_head;
};

constexpr ShapeRow kShapeRows[] = {
    {"Qwen2.5-0.5B", "qwen2", 151936, 896, 4864, 24, 14, 2, 64, true},
    {"Qwen2.5-1.5B", "qwen2", 151936, 1536, 8960, 28, 12, 2, 128, true},
    {"Qwen2.5-3B", "qwen2", 151936, 2048, 11008, 36, 16, 2, 128, true},
    {"Qwen2.5-7B", "qwen2", 152064, 3584, 18944, 28, 28, 4, 128, false},
    {"Qwen2.5-14B", "qwen2", 152064, 5120, 13824, 48, 40, 8, 128, false},
    {"Qwen2.5-32B", "qwen2", 152064, 5120, 27648, 64, 40, 8, 128, false},
    {"Qwen2.5-72B", "qwen2", 152064, 8192, 29568, 80, 64, 8, 128, false},
    {"Qwen3-0.6B", "qwen3", 151936, 1024, 3072, 28, 16, 8, 128, true},
    {"Qwen3-1.7B", "qwen3", 151936, 2048, 6144, 28, 16, 8, 128, true},
    {"Qwen3-4B", "qwen3", 151936, 2560, 9728, 36, 32, 8, 128, true},
    {"Qwen3-8B", "qwen3", 151936, 4096, 12288, 36, 32, 8, 128, false},
    {"Qwen3-14B", "qwen3", 151936, 5120, 17408, 40, 40, 8, 128, false},
    {"Qwen3-32B", "qwen3", 151936, 5120, 25600, 64, 64, 8, 128, false},
    {"Llama-3-8B", "llama", 128256, 4096, 14336, 32, 32, 8, 128, false},
    {"Llama-3-70B", "llama", 128256, 8192, 28672, 80, 64, 8, 128, false},
    {"Llama-3.1-8B", "llama", 128256, 4096, 14336, 32, 32, 8, 128, false},
    {"Llama-3.1-70B", "llama", 128256, 8192, 28672, 80, 64, 8, 128, false},
    {"Llama-3.1-405B", "llama", 128256, 16384, 53248, 126, 128, 8, 128, false},
    {"Llama-3.2-1B", "llama", 128256, 2048, 8192, 16, 32, 8, 64, true},
    {"Llama-3.2-3B", "llama", 128256, 3072, 8192, 28, 24, 8, 128, true},
    {"Llama-3.3-70B", "llama", 128256, 8192, 28672, 80, 64, 8, 128, false},
};

struct MixtureRow {
  ShapeRow shape;
  int64_t num_experts, chosen, inner, shared_inner;
};

constexpr MixtureRow kMixtureRows[] = {
    {{"Qwen1.5-MoE-A2.7B", "qwen2_moe", 151936, 2048, 5632, 24, 16, 16, 128, false}, 60, 4, 1408, 5632},
    {{"Qwen3-30B-A3B", "qwen3_moe", 151936, 2048, 6144, 48, 32, 4, 128, false}, 128, 8, 768, 0},
    {{"Qwen3-235B-A22B", "qwen3_moe", 151936, 4096, 12288, 94, 64, 4, 128, false}, 128, 8, 1536, 0},
};

struct SigmoidRow {
  ShapeRow shape;
  int64_t num_experts, chosen, inner, dense_layers;
  bool has_qk_norm;
};

constexpr SigmoidRow kSigmoidRows[] = {
    {{"GLM-4.5-Air", "glm4_moe", 151552, 4096, 10944, 46, 96, 8, 128, false}, 128, 8, 1408, 1, false},
    {{"GLM-4.5", "glm4_moe", 151552, 5120, 12288, 92, 96, 8, 128, false}, 160, 8, 1536, 3, true},
};

struct HybridRow {
  ShapeRow shape;
  int64_t value_heads;
  int64_t num_experts = 0, chosen = 0, inner = 0;  // a mixture; its shared expert is as wide as the others
};

// Qwen3.5 without its vision model.
constexpr HybridRow kHybridRows[] = {
    {{"Qwen3-Next-80B-A3B", "qwen3_next", 151936, 2048, 5120, 48, 16, 2, 256, false}, 32, 512, 10, 512},
    {{"Qwen3.5-27B", "qwen3_5_text", 248320, 5120, 17408, 64, 24, 4, 256, false}, 48},
    {{"Qwen3.5-35B-A3B", "qwen3_5_moe_text", 248320, 2048, 512, 40, 16, 2, 256, false}, 32, 256, 8, 512},
    {{"Qwen3.5-122B-A10B", "qwen3_5_moe_text", 248320, 3072, 1024, 48, 32, 2, 256, false}, 64, 256, 8, 1024},
    {{"Qwen3.5-397B-A17B", "qwen3_5_moe_text", 248320, 4096, 1024, 60, 32, 2, 256, false}, 64, 512, 10, 1024},
};

struct GemmaRow {
  ShapeRow shape;
  int64_t window = 512;
  int64_t layer_input = 0, keyless_layers = 0, pattern = 6;  // every `pattern`-th layer has full attention
  bool widens_keyless = false;
  int64_t full_kv_heads = 0;  // KV heads of full-attention layers whose keys are their values; 0: values differ
  int64_t num_experts = 0, chosen = 0, inner = 0;  // experts beside the MLPs
};

// Gemma 4 without its vision and audio models.
constexpr GemmaRow kGemmaRows[] = {
    {.shape = {"gemma-4-E2B", "gemma4_text", 262144, 1536, 6144, 35, 8, 1, 256, true},
     .layer_input = 256,
     .keyless_layers = 20,
     .pattern = 5,
     .widens_keyless = true},
    {.shape = {"gemma-4-E4B", "gemma4_text", 262144, 2560, 10240, 42, 8, 2, 256, true},
     .layer_input = 256,
     .keyless_layers = 18},
    {.shape = {"gemma-4-26B-A4B", "gemma4_text", 262144, 2816, 2112, 30, 16, 8, 256, true},
     .window = 1024,
     .full_kv_heads = 2,
     .num_experts = 128,
     .chosen = 8,
     .inner = 704},
    {.shape = {"gemma-4-31B", "gemma4_text", 262144, 5376, 21504, 60, 32, 16, 256, true},
     .window = 1024,
     .full_kv_heads = 4},
};

// Parts of a name that tell the maker or the training, not the shape.
constexpr const char* kShapeless[] = {"meta", "base", "instruct", "thinking", "it", "2507", "math", "coder"};

/// Makes a shape from a row. Keys that it leaves out change neither FLOPs nor memory.
KnownShape shape(const ShapeRow& row, const Json& extra_keys = Json::object()) {
  Json config = {{"model_type", row.model_type},
                 {"vocab_size", row.vocab_size},
                 {"hidden_size", row.hidden_size},
                 {"intermediate_size", row.intermediate_size},
                 {"num_hidden_layers", row.num_layers},
                 {"num_attention_heads", row.num_heads},
                 {"num_key_value_heads", row.num_kv_heads},
                 {"head_dim", row.head_dim},
                 {"max_position_embeddings", int64_t{1} << 17},
                 {"tie_word_embeddings", row.tied_head}};
  config.update(extra_keys);
  return {row.name, parse_spec(config, row.name)};
}

KnownShape shape(const MixtureRow& row) {
  return shape(row.shape, {{"num_experts", row.num_experts},
                           {"num_experts_per_tok", row.chosen},
                           {"moe_intermediate_size", row.inner},
                           {"shared_expert_intermediate_size", row.shared_inner}});
}

KnownShape shape(const SigmoidRow& row) {
  return shape(row.shape, {{"n_routed_experts", row.num_experts},
                           {"num_experts_per_tok", row.chosen},
                           {"moe_intermediate_size", row.inner},
                           {"n_shared_experts", 1},
                           {"first_k_dense_replace", row.dense_layers},
                           {"attention_bias", true},
                           {"use_qk_norm", row.has_qk_norm}});
}

KnownShape shape(const HybridRow& row) {
  Json extra_keys = {{"linear_num_key_heads", 16}, {"linear_num_value_heads", row.value_heads}};
  if (row.num_experts > 0)
    extra_keys.update({{"num_experts", row.num_experts},
                       {"num_experts_per_tok", row.chosen},
                       {"moe_intermediate_size", row.inner},
                       {"shared_expert_intermediate_size", row.inner}});
  return shape(row.shape, extra_keys);
}

KnownShape shape(const GemmaRow& row) {
  Json extra_keys = {{"sliding_window", row.window},
                     {"hidden_size_per_layer_input", row.layer_input},
                     {"num_kv_shared_layers", row.keyless_layers},
                     {"use_double_wide_mlp", row.widens_keyless},
                     {"attention_k_eq_v", row.full_kv_heads > 0}};
  if (row.full_kv_heads > 0) extra_keys["num_global_key_value_heads"] = row.full_kv_heads;
  for (int64_t i = 1; i <= row.shape.num_layers; ++i)
    extra_keys["layer_types"].push_back(i % row.pattern == 0 ? "full_attention" : "sliding_attention");
  if (row.num_experts > 0)
    extra_keys.update({{"enable_moe_block", true},
                       {"num_experts", row.num_experts},
                       {"top_k_experts", row.chosen},
                       {"moe_intermediate_size", row.inner}});
  return shape(row.shape, extra_keys);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "meta-llama/Meta-Llama-3-8B-Instruct/" -> "llama-3-8b".
std::string shape_name(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  name = lower(name.substr(name.rfind('/') + 1));
  std::string kept;
  for (size_t from = 0; from <= name.size();) {
    const size_t dash = std::min(name.find('-', from), name.size());
    const std::string word = name.substr(from, dash - from);
    if (std::find(std::begin(kShapeless), std::end(kShapeless), word) == std::end(kShapeless))
      kept += (kept.empty() ? "" : "-") + word;
    from = dash + 1;
  }
  return kept;
}

}  // namespace

const std::vector<KnownShape>& known_shapes() {
  static const std::vector<KnownShape> shapes = [] {
    std::vector<KnownShape> all;
    for (const ShapeRow& row : kShapeRows) all.push_back(shape(row));
    for (const MixtureRow& row : kMixtureRows) all.push_back(shape(row));
    for (const SigmoidRow& row : kSigmoidRows) all.push_back(shape(row));
    for (const HybridRow& row : kHybridRows) all.push_back(shape(row));
    for (const GemmaRow& row : kGemmaRows) all.push_back(shape(row));
    return all;
  }();
  return shapes;
}

const KnownShape* find_known_shape(const std::string& name) {
  const std::string wanted = shape_name(name);
  for (const KnownShape& known : known_shapes())
    if (lower(known.name) == wanted) return &known;
  return nullptr;
}

ModelSpec known_shape(const std::string& text) {
  const std::filesystem::path path = text;
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) {
    return read_spec(find_model_folder(text).value_or(path));
  }
  if (is_gguf(text)) return read_spec(gguf_folder(path));
  if (std::filesystem::is_regular_file(path, ec)) return parse_spec(parse_python_json(read_file(path), text), text);
  if (const KnownShape* known = find_known_shape(text)) return known->spec;
  std::vector<std::string> lowered, names;
  for (const KnownShape& known : known_shapes()) names.push_back(known.name), lowered.push_back(lower(known.name));
  const std::string near = nearest(shape_name(text), lowered);
  const auto found = std::find(lowered.begin(), lowered.end(), near);
  const std::string advice = found == lowered.end()
                                 ? fmt::format("known shapes: {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean {}?", names[static_cast<size_t>(found - lowered.begin())]);
  throw user_error("--arch = {}: is neither a config.json nor the name of a known shape; {}", text, advice);
}

}  // namespace roll
