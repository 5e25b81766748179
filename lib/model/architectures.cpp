#include "model/architectures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "model/spec.h"

namespace roll {

namespace {

LinearShape linear(const ModelSpec& spec, const std::string& name, int64_t outputs, int64_t inputs, bool has_bias,
                   Cut cut) {
  return {name,          outputs, inputs, has_bias, cut, spec.lora ? spec.lora->adapter_of(name) : AdapterShape(),
          spec.quantised};
}

Attention attention_of(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, size = spec.head_dim, heads = spec.num_heads, kv_heads = spec.num_kv_heads;
  const auto rows = [&](const std::string& name, int64_t count) {
    return linear(spec, name, count * size, hidden, spec.qkv_bias, {.dim = 0, .count = count, .width = size});
  };
  const int64_t normed = spec.qk_norm ? size : 0;
  return {.num_heads = heads,
          .num_kv_heads = kv_heads,
          .head_dim = size,
          .q = rows(names.q, heads),
          .k = rows(names.k, kv_heads),
          .v = rows(names.v, kv_heads),
          .o = linear(spec, names.o, hidden, heads * size, spec.o_bias, {.dim = 1, .count = heads, .width = size}),
          .q_norm = {names.q_norm, normed},
          .k_norm = {names.k_norm, normed}};
}

GatedMlp mlp_of(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, inner = spec.intermediate_size;
  const Cut rows = {.dim = 0, .count = inner}, columns = {.dim = 1, .count = inner};
  return {.inner = inner,
          .gate = linear(spec, names.gate, inner, hidden, spec.mlp_bias, rows),
          .up = linear(spec, names.up, inner, hidden, spec.mlp_bias, rows),
          .down = linear(spec, names.down, hidden, inner, spec.mlp_bias, columns)};
}

}  // namespace

std::vector<Layer> dense_layers(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const Layer layer = {{.norm = {names.input_norm, spec.hidden_size}, .mixer = attention_of(spec)},
                       {.norm = {names.post_norm, spec.hidden_size}, .mixer = mlp_of(spec)}};
  return std::vector<Layer>(static_cast<size_t>(spec.num_layers), layer);
}

const Architectures& architectures() {
  static const Architectures rows = {
      {.name = "qwen2",
       .causal_class = "Qwen2ForCausalLM",
       .value_class = "Qwen2ForTokenClassification",
       .qkv_bias = Bias::kAlways},
      {.name = "qwen3",
       .causal_class = "Qwen3ForCausalLM",
       .value_class = "Qwen3ForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 128},
      {.name = "llama",
       .causal_class = "LlamaForCausalLM",
       .value_class = "LlamaForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig},
      {.name = "qwen2_moe",
       .causal_class = "Qwen2MoeForCausalLM",
       .value_class = "Qwen2MoeForTokenClassification",
       .qkv_bias = Bias::kAlways,
       .has_experts = true,
       .has_shared_expert = true,
       .layers = mixture_layers},
      {.name = "qwen3_moe",
       .causal_class = "Qwen3MoeForCausalLM",
       .value_class = "Qwen3MoeForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .has_experts = true,
       .layers = mixture_layers},
  };
  return rows;
}

std::string architecture_list(const std::string& last_word, const Architectures& known) {
  std::string list = known.front().name;
  for (size_t i = 1; i < known.size(); ++i)
    list += (i + 1 < known.size() ? ", " : fmt::format(" {} ", last_word)) + known[i].name;
  return list;
}

const Architecture& find_architecture(const std::string& name, const std::string& origin, const Architectures& known) {
  std::vector<std::string> names;
  for (const Architecture& row : known) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw user_error("{} = {}: only {} are supported{}", origin, name, architecture_list("and", known),
                   did_you_mean(name, names));
}

}  // namespace roll
