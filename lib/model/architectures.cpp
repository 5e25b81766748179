#include "model/architectures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "model/spec.h"

namespace roll {

namespace {

/// What the products of a layer have beside their sizes.
class LinearMaker {
 public:
  LinearMaker(const ModelSpec& spec, size_t layer) : spec_(spec), prefix_(layer_prefix(spec, layer)) {}

  LinearShape operator()(const std::string& name, int64_t outputs, int64_t inputs, bool has_bias, Cut cut) const {
    LinearShape linear = {.name = name, .outputs = outputs, .inputs = inputs, .has_bias = has_bias, .cut = cut};
    if (spec_.lora) linear.adapter = spec_.lora->adapter_of(name);
    if (spec_.bitsandbytes && !spec_.bitsandbytes->covers(prefix_ + name)) return linear;
    linear.quantised = spec_.quantised;
    if (spec_.bitsandbytes) linear.quantised_from = spec_.bitsandbytes->from;
    return linear;
  }

 private:
  const ModelSpec& spec_;
  std::string prefix_;
};

Attention attention_of(const ModelSpec& spec, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, size = spec.head_dim, heads = spec.num_heads, kv_heads = spec.num_kv_heads;
  const auto rows = [&](const std::string& name, int64_t count) {
    return linear(name, count * size, hidden, spec.qkv_bias, {.dim = 0, .count = count, .width = size});
  };
  const int64_t normed = spec.qk_norm ? size : 0;
  return {.num_heads = heads,
          .num_kv_heads = kv_heads,
          .head_dim = size,
          .q = rows(names.q, heads),
          .k = rows(names.k, kv_heads),
          .v = rows(names.v, kv_heads),
          .o = linear(names.o, hidden, heads * size, spec.o_bias, {.dim = 1, .count = heads, .width = size}),
          .q_norm = {names.q_norm, normed},
          .k_norm = {names.k_norm, normed}};
}

GatedMlp mlp_of(const ModelSpec& spec, const LinearMaker& linear) {
  const WeightNames& names = spec.architecture->weights;
  const int64_t hidden = spec.hidden_size, inner = spec.intermediate_size;
  const Cut rows = {.dim = 0, .count = inner}, columns = {.dim = 1, .count = inner};
  return {.inner = inner,
          .gate = linear(names.gate, inner, hidden, spec.mlp_bias, rows),
          .up = linear(names.up, inner, hidden, spec.mlp_bias, rows),
          .down = linear(names.down, hidden, inner, spec.mlp_bias, columns)};
}

}  // namespace

std::vector<Layer> dense_layers(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const auto layer_of = [&](size_t i) -> Layer {
    const LinearMaker linear(spec, i);
    return {{.norm = {names.input_norm, spec.hidden_size}, .mixer = attention_of(spec, linear)},
            {.norm = {names.post_norm, spec.hidden_size}, .mixer = mlp_of(spec, linear)}};
  };
  std::vector<Layer> layers(static_cast<size_t>(spec.num_layers), layer_of(0));
  const bool are_alike = !spec.bitsandbytes || spec.bitsandbytes->skipped.empty();
  for (size_t i = 1; i < layers.size() && !are_alike; ++i) layers[i] = layer_of(i);
  return layers;
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
