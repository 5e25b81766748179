#include "model/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

/// Makes a gated MLP from HF's names of its products.
GatedMlp make_mlp(const ModelSpec& spec, const std::vector<std::string>& names, int64_t inner, bool has_bias = false) {
  const int64_t hidden = spec.hidden_size;
  const Cut rows = {.dim = 0, .count = inner}, columns = {.dim = 1, .count = inner};
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut) {
    return LinearShape{.name = name,
                       .outputs = outputs,
                       .inputs = inputs,
                       .has_bias = has_bias,
                       .cut = cut,
                       .adapter = spec.lora ? spec.lora->adapter_shape(name) : AdapterShape{}};
  };
  return {.inner = inner,
          .activation = spec.activation,
          .gate = linear(names[0], inner, hidden, rows),
          .up = linear(names[1], inner, hidden, rows),
          .down = linear(names[2], hidden, inner, columns)};
}

std::vector<std::string> product_names(const WeightNames& names, const std::string& module) {
  return {module + "." + names.expert_gate, module + "." + names.expert_up, module + "." + names.expert_down};
}

/// Makes the experts' products.
std::shared_ptr<const ExpertParts> make_expert_parts(const ModelSpec& spec) {
  const WeightNames& names = spec.architecture->weights;
  const MixtureSpec& mixture = *spec.mixture;
  const auto parts = std::make_shared<ExpertParts>();
  for (int64_t e = 0; e < mixture.routing.count; ++e)
    parts->names.push_back(product_names(names, fmt::format("{}.{}", names.experts, e)));
  parts->names.push_back({names.stacked_gate_up, names.stacked_down});
  const Architecture& row = *spec.architecture;
  std::vector<LinearShape> downs;
  for (int64_t e = 0; e < mixture.routing.count; ++e) {
    GatedMlp mlp = make_mlp(spec, parts->names[e], mixture.inner, row.expert_bias);
    if (row.stacks_experts) {
      const int64_t count = mixture.routing.count, rows = 2 * mixture.inner;
      const FusedRows gate_up = {.tensor_name = parts->names.back()[0],
                                 .begin = e * rows,
                                 .rows = count * rows,
                                 .stacked = count,
                                 .may_be_transposed = row.may_transpose_experts,
                                 .is_transposed = row.transposes_experts,
                                 .step = row.weaves_experts ? 2 : 1};
      mlp.gate.fused = mlp.up.fused = gate_up;
      mlp.up.fused.begin += row.weaves_experts ? 1 : mixture.inner;
      mlp.down.fused = {.tensor_name = parts->names.back()[1],
                        .begin = e * spec.hidden_size,
                        .rows = count * spec.hidden_size,
                        .stacked = count,
                        .may_be_transposed = row.may_transpose_experts,
                        .is_transposed = row.transposes_experts};
    }
    for (LinearShape* part : {&mlp.gate, &mlp.up, &mlp.down}) {
      part->expert = ExpertPlace{e, mixture.routing.count};
      part->share = static_cast<double>(mixture.routing.chosen) / static_cast<double>(mixture.routing.count);
    }
    parts->linears.insert(parts->linears.end(), {mlp.gate, mlp.up});
    downs.push_back(mlp.down);
  }
  parts->linears.insert(parts->linears.end(), downs.begin(), downs.end());
  return parts;
}

}  // namespace

bool MixtureSpec::has_experts(int64_t layer) const {
  return (layer + 1) % sparse_step == 0 && std::ranges::find(dense_layers, layer) == dense_layers.end();
}

namespace {

/// Reads the keys that all families have; `count`, `chosen` and `inner` name three, which differ.
void read_counts(const ConfigReader& config, const char* count, const char* chosen, MixtureSpec& mixture,
                 const char* inner = "moe_intermediate_size") {
  RoutingRule& rule = mixture.routing;
  rule.count = config.count(count, SizeLimits::kExperts);
  rule.chosen = config.count(chosen, SizeLimits::kExperts);
  if (rule.chosen > rule.count) config.fail(chosen, fmt::format("must be at most {} ({})", count, rule.count));
  mixture.inner = config.count(inner, SizeLimits::kIntermediate);
}

std::vector<int64_t> first_layers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Returns the key of the number of experts; versions of transformers write one or the other.
const char* count_key(const ConfigReader& config) {
  const bool is_local = !config.find("num_experts") && config.find("num_local_experts");
  return is_local ? "num_local_experts" : "num_experts";
}

bool read_renormalises(const ConfigReader& config, const Architecture& row) {
  return row.always_renormalises || config.flag("norm_topk_prob", row.renormalises);
}

/// Returns the layers without experts by mlp_layer_types; without that key the first `absent` ones.
std::vector<int64_t> read_dense_types(const ConfigReader& config, int64_t num_layers, int64_t absent) {
  const Json* types = config.find("mlp_layer_types");
  if (!types) return first_layers(absent);
  const auto is_type = [](const Json& type) { return type == "sparse" || type == "dense"; };
  if (!types->is_array() || std::ssize(*types) != num_layers || !std::ranges::all_of(*types, is_type))
    config.fail("mlp_layer_types", fmt::format("a list of {} types, sparse or dense, is needed", num_layers));
  std::vector<int64_t> dense;
  for (int64_t i = 0; i < num_layers; ++i)
    if ((*types)[static_cast<size_t>(i)] == "dense") dense.push_back(i);
  return dense;
}

MixtureSpec read_mixtral(const ConfigReader& config, const ModelSpec& spec) {
  MixtureSpec mixture;
  read_counts(config, count_key(config), "num_experts_per_tok", mixture, "intermediate_size");
  mixture.routing.is_sigmoid = spec.architecture->sigmoid_routers;
  mixture.routing.renormalises = read_renormalises(config, *spec.architecture);
  return mixture;
}

void write_mixtral(const MixtureSpec& mixture, Json& config) {
  config.update({{"num_local_experts", mixture.routing.count},
                 {"num_experts", mixture.routing.count},
                 {"num_experts_per_tok", mixture.routing.chosen},
                 {"intermediate_size", mixture.inner},
                 {"norm_topk_prob", mixture.routing.renormalises}});
}

MixtureSpec read_qwen(const ConfigReader& config, const ModelSpec& spec) {
  MixtureSpec mixture;
  read_counts(config, count_key(config), "num_experts_per_tok", mixture);
  if (spec.architecture->has_shared_expert)
    mixture.shared_inner = config.count("shared_expert_intermediate_size", SizeLimits::kIntermediate);
  mixture.routing.renormalises = read_renormalises(config, *spec.architecture);
  if (spec.architecture->fixed_mixture) return mixture;
  if (spec.architecture->typed_mlps) {
    mixture.dense_layers = read_dense_types(config, spec.num_layers, 0);
    return mixture;
  }
  mixture.sparse_step = config.count("decoder_sparse_step", SizeLimits::kLayers, 1);
  if (const Json* dense = config.find("mlp_only_layers")) {
    const auto is_layer = [&](const Json& layer) {
      return layer.is_number_integer() && layer.get<int64_t>() >= 0 && layer.get<int64_t>() < spec.num_layers;
    };
    if (!dense->is_array() || !std::ranges::all_of(*dense, is_layer))
      config.fail("mlp_only_layers", fmt::format("a list of whole numbers below {} is needed", spec.num_layers));
    mixture.dense_layers = dense->get<std::vector<int64_t>>();
  }
  return mixture;
}

void write_qwen(const MixtureSpec& mixture, Json& config) {
  config.update({{"num_experts", mixture.routing.count},
                 {"num_experts_per_tok", mixture.routing.chosen},
                 {"moe_intermediate_size", mixture.inner},
                 {"norm_topk_prob", mixture.routing.renormalises},
                 {"decoder_sparse_step", mixture.sparse_step},
                 {"mlp_only_layers", mixture.dense_layers}});
  if (mixture.shared_inner > 0) config["shared_expert_intermediate_size"] = mixture.shared_inner;
}

/// Refuses what DeepSeek's own code and transformers compute differently, or what roll lacks. `method`: topk_method.
void check_deepseek(const ConfigReader& config, const RoutingRule& rule, const std::string& method) {
  if (config.count("moe_layer_freq", SizeLimits::kLayers, 1) != 1)
    config.fail("moe_layer_freq", "only 1 is supported; transformers ignores other values");
  const char* const scores = rule.is_sigmoid ? "sigmoid" : "softmax";
  if (config.text("scoring_func", scores) != scores)
    config.fail("scoring_func", fmt::format("only {} is supported in this architecture", scores));
  if (rule.is_sigmoid) {
    if (method != "noaux_tc") config.fail("topk_method", "only noaux_tc is supported in this architecture");
    return;
  }
  if (method != "greedy" && method != "group_limited_greedy")
    config.fail("topk_method", "only greedy and group_limited_greedy are supported");
  if (rule.renormalises) config.fail("norm_topk_prob", "only false is supported; transformers ignores true");
  if (config.flag("mlp_bias")) config.fail("mlp_bias", "only false is supported in this architecture");
}

MixtureSpec read_deepseek(const ConfigReader& config, const ModelSpec& spec) {
  MixtureSpec mixture;
  read_counts(config, "n_routed_experts", "num_experts_per_tok", mixture);
  RoutingRule& rule = mixture.routing;
  rule.is_sigmoid = spec.architecture->has_sigmoid_routers();
  rule.renormalises = config.flag("norm_topk_prob", spec.architecture->renormalises);
  rule.scale = config.positive("routed_scaling_factor", 1.0);
  const std::string method = config.text("topk_method", rule.is_sigmoid ? "noaux_tc" : "greedy");
  check_deepseek(config, rule, method);
  const bool has_groups = method != "greedy";
  rule.groups = has_groups ? config.count("n_group", SizeLimits::kExperts, 1) : 1;
  rule.ranks_by_largest = !rule.is_sigmoid && rule.groups > 1;
  if (rule.count % rule.groups != 0 || (rule.groups > 1 && rule.group_size() < 2))
    config.fail("n_group", fmt::format("must divide n_routed_experts ({}) into groups of 2 or more", rule.count));
  rule.chosen_groups = has_groups ? config.count("topk_group", SizeLimits::kExperts, 1) : 1;
  if (rule.chosen_groups > rule.groups)
    config.fail("topk_group", fmt::format("must be at most n_group ({})", rule.groups));
  if (rule.chosen > rule.chosen_groups * rule.group_size())
    config.fail("num_experts_per_tok", fmt::format("must be at most the experts of topk_group groups ({})",
                                                   rule.chosen_groups * rule.group_size()));
  mixture.shared_inner = mixture.inner * config.count("n_shared_experts", SizeLimits::kExperts, 0, /*least=*/0);
  mixture.dense_layers = spec.architecture->typed_mlps
                             ? read_dense_types(config, spec.num_layers, 1)
                             : first_layers(config.count("first_k_dense_replace", spec.num_layers, 0, /*least=*/0));
  return mixture;
}

void write_deepseek(const MixtureSpec& mixture, Json& config) {
  const RoutingRule& rule = mixture.routing;
  config.update({{"n_routed_experts", rule.count},
                 {"num_experts_per_tok", rule.chosen},
                 {"moe_intermediate_size", mixture.inner},
                 {"norm_topk_prob", rule.renormalises},
                 {"routed_scaling_factor", rule.scale},
                 {"n_group", rule.groups},
                 {"topk_group", rule.chosen_groups},
                 {"n_shared_experts", mixture.shared_inner / mixture.inner},
                 {"first_k_dense_replace", mixture.dense_layers.size()}});
}

MixtureSpec read_gemma(const ConfigReader& config) {
  MixtureSpec mixture;
  read_counts(config, "num_experts", "top_k_experts", mixture);
  mixture.routing.renormalises = true;
  return mixture;
}

void write_gemma(const MixtureSpec& mixture, Json& config) {
  config.update({{"enable_moe_block", true},
                 {"num_experts", mixture.routing.count},
                 {"top_k_experts", mixture.routing.chosen},
                 {"moe_intermediate_size", mixture.inner}});
}

}  // namespace

std::optional<MixtureSpec> read_mixture(const ConfigReader& config, const ModelSpec& spec) {
  switch (spec.architecture->mixtures) {
    case Mixtures::kNone:
      return {};
    case Mixtures::kQwen:
      return read_qwen(config, spec);
    case Mixtures::kMixtral:
      return read_mixtral(config, spec);
    case Mixtures::kDeepSeek2:
    case Mixtures::kDeepSeek:
      return read_deepseek(config, spec);
    case Mixtures::kBesideMlps:
      break;
  }
  if (config.flag("enable_moe_block")) return read_gemma(config);
  return {};
}

void write_mixture(const ModelSpec& spec, Json& config) {
  for (int64_t i = 0; spec.architecture->typed_mlps && i < spec.num_layers; ++i)
    config["mlp_layer_types"].push_back(spec.mixture->has_experts(i) ? "sparse" : "dense");
  switch (spec.architecture->mixtures) {
    case Mixtures::kNone:
      return;
    case Mixtures::kQwen:
      return write_qwen(*spec.mixture, config);
    case Mixtures::kMixtral:
      return write_mixtral(*spec.mixture, config);
    case Mixtures::kDeepSeek2:
      config["topk_method"] = spec.mixture->routing.groups > 1 ? "group_limited_greedy" : "greedy";
      [[fallthrough]];
    case Mixtures::kDeepSeek:
      return write_deepseek(*spec.mixture, config);
    case Mixtures::kBesideMlps:
      if (spec.mixture) write_gemma(*spec.mixture, config);
  }
}

std::vector<Layer> mixture_layers(const ModelSpec& spec) {
  static const std::vector<std::string> shared_name = product_names({}, "mlp.shared_expert");
  static const std::vector<std::string> shared_names = product_names({}, "mlp.shared_experts");
  const MixtureSpec& mixture = *spec.mixture;
  const WeightNames& names = spec.architecture->weights;
  const bool is_deepseek = spec.architecture->is_deepseek();
  Experts experts{.routing = mixture.routing,
                  .inner = mixture.inner,
                  .activation = spec.activation,
                  .router = {.name = names.router,
                             .outputs = mixture.routing.count,
                             .inputs = spec.hidden_size,
                             .has_bias = spec.architecture->expert_bias,
                             .weighs_experts = true},
                  .parts = make_expert_parts(spec)};
  if (spec.architecture->has_sigmoid_routers())
    experts.bias = {.name = names.router_bias, .shape = {mixture.routing.count}, .is_constant = true, .is_wide = true};
  if (mixture.shared_inner > 0)
    experts.shared = make_mlp(spec, is_deepseek ? shared_names : shared_name, mixture.shared_inner);
  if (experts.shared && !is_deepseek)
    experts.shared_gate = {
        .name = "mlp.shared_expert_gate", .outputs = 1, .inputs = spec.hidden_size, .weighs_experts = true};
  std::vector<Layer> layers = dense_layers(spec);
  for (int64_t i = 0; i < std::ssize(layers); ++i) {
    if (!mixture.has_experts(i)) continue;
    layers[i].back().mixer = experts;
    ++experts.number;
  }
  return layers;
}

std::vector<Layer> layers_beside_experts(const ModelSpec& spec) {
  std::vector<Layer> layers = dense_layers(spec);
  if (!spec.mixture) return layers;
  const MixtureSpec& mixture = *spec.mixture;
  Experts experts{.routing = mixture.routing,
                  .inner = mixture.inner,
                  .activation = spec.activation,
                  .router = {.name = spec.architecture->weights.router,
                             .outputs = mixture.routing.count,
                             .inputs = spec.hidden_size,
                             .weighs_experts = true},
                  .parts = make_expert_parts(spec)};
  experts.router_scale = {.name = "router.scale", .shape = {spec.hidden_size}, .initial = 1};
  experts.expert_scales = {.name = "router.per_expert_scale", .shape = {mixture.routing.count}, .initial = 1};
  const auto norm = [&](const char* name) { return NormShape{name, spec.hidden_size, spec.norm_offset()}; };
  for (Layer& layer : layers) {
    Block& block = layer[1];
    block.mixer = MlpBesideExperts{.mlp_norm = block.norm,
                                   .mlp_after = norm("post_feedforward_layernorm_1"),
                                   .experts_norm = norm("pre_feedforward_layernorm_2"),
                                   .experts_after = norm("post_feedforward_layernorm_2"),
                                   .mlp = std::get<GatedMlp>(block.mixer),
                                   .experts = experts};
    block.norm.width = 0;
    ++experts.number;
  }
  return layers;
}

int64_t choices_per_token(const ModelSpec& spec) {
  if (!spec.mixture) return 0;
  int64_t num_mixtures = 0;
  for (int64_t i = 0; i < spec.num_layers; ++i) num_mixtures += spec.mixture->has_experts(i);
  return num_mixtures * spec.mixture->routing.chosen;
}

}  // namespace roll
