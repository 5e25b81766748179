#include "model/mixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

/// The products of one gated MLP under HF's names.
GatedMlp mlp_named(const ModelSpec& spec, const std::vector<std::string>& names, int64_t inner) {
  const int64_t hidden = spec.hidden_size;
  const Cut rows = {.dim = 0, .count = inner}, columns = {.dim = 1, .count = inner};
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut) {
    return LinearShape{.name = name,
                       .outputs = outputs,
                       .inputs = inputs,
                       .cut = cut,
                       .adapter = spec.lora ? spec.lora->adapter_of(name) : AdapterShape{}};
  };
  return {.inner = inner,
          .gate = linear(names[0], inner, hidden, rows),
          .up = linear(names[1], inner, hidden, rows),
          .down = linear(names[2], hidden, inner, columns)};
}

std::vector<std::string> names_within(const std::string& module) {
  return {module + ".gate_proj", module + ".up_proj", module + ".down_proj"};
}

/// Those of `module`.
std::shared_ptr<const ExpertParts> parts_of(const ModelSpec& spec, const std::string& module) {
  const MixtureSpec& mixture = *spec.mixture;
  const auto parts = std::make_shared<ExpertParts>();
  for (int64_t e = 0; e < mixture.num_experts; ++e)
    parts->names.push_back(names_within(fmt::format("{}.{}", module, e)));
  parts->names.push_back({module + ".gate_up_proj", module + ".down_proj"});
  std::vector<LinearShape> downs;
  for (int64_t e = 0; e < mixture.num_experts; ++e) {
    GatedMlp mlp = mlp_named(spec, parts->names[e], mixture.inner);
    if (spec.architecture->stacks_experts) {
      const int64_t count = mixture.num_experts, rows = 2 * mixture.inner;
      const FusedRows gate_up = {
          .of = parts->names.back()[0], .begin = e * rows, .rows = count * rows, .stacked = count};
      mlp.gate.fused = mlp.up.fused = gate_up;
      mlp.up.fused.begin += mixture.inner;
      mlp.down.fused = {.of = parts->names.back()[1],
                        .begin = e * spec.hidden_size,
                        .rows = count * spec.hidden_size,
                        .stacked = count};
    }
    for (LinearShape* part : {&mlp.gate, &mlp.up, &mlp.down}) {
      part->expert = ExpertPlace{e, mixture.num_experts};
      part->share = static_cast<double>(mixture.chosen) / static_cast<double>(mixture.num_experts);
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

MixtureSpec read_beside_mlps(const ConfigReader& config) {
  MixtureSpec mixture;
  mixture.num_experts = config.count("num_experts", SizeLimits::kExperts);
  mixture.chosen = config.count("top_k_experts", SizeLimits::kExperts);
  if (mixture.chosen > mixture.num_experts)
    config.fail("top_k_experts", fmt::format("must be at most num_experts ({})", mixture.num_experts));
  mixture.inner = config.count("moe_intermediate_size", SizeLimits::kIntermediate);
  mixture.renormalises = true;
  return mixture;
}

MixtureSpec read_mixture(const ConfigReader& config, const ModelSpec& spec) {
  const char* const number = config.find("num_experts") ? "num_experts" : "num_local_experts";
  MixtureSpec mixture;
  mixture.num_experts = config.count(config.find(number) ? number : "num_experts", SizeLimits::kExperts);
  mixture.chosen = config.count("num_experts_per_tok", SizeLimits::kExperts);
  if (mixture.chosen > mixture.num_experts)
    config.fail("num_experts_per_tok", fmt::format("must be at most {} ({})", number, mixture.num_experts));
  mixture.inner = config.count("moe_intermediate_size", SizeLimits::kIntermediate);
  mixture.renormalises = config.flag("norm_topk_prob", spec.architecture->renormalises);
  mixture.sparse_step = config.count("decoder_sparse_step", SizeLimits::kLayers, 1);
  if (spec.architecture->has_shared_expert)
    mixture.shared_inner = config.count("shared_expert_intermediate_size", SizeLimits::kIntermediate);
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

void write_beside_mlps(const MixtureSpec& mixture, Json& config) {
  config.update({{"enable_moe_block", true},
                 {"num_experts", mixture.num_experts},
                 {"top_k_experts", mixture.chosen},
                 {"moe_intermediate_size", mixture.inner}});
}

void write_mixture(const MixtureSpec& mixture, Json& config) {
  config.update({{"num_experts", mixture.num_experts},
                 {"num_experts_per_tok", mixture.chosen},
                 {"moe_intermediate_size", mixture.inner},
                 {"norm_topk_prob", mixture.renormalises},
                 {"decoder_sparse_step", mixture.sparse_step},
                 {"mlp_only_layers", mixture.dense_layers}});
  if (mixture.shared_inner > 0) config["shared_expert_intermediate_size"] = mixture.shared_inner;
}

std::vector<Layer> mixture_layers(const ModelSpec& spec) {
  static const std::vector<std::string> shared_names = names_within("mlp.shared_expert");
  const MixtureSpec& mixture = *spec.mixture;
  Experts experts{.count = mixture.num_experts,
                  .chosen = mixture.chosen,
                  .inner = mixture.inner,
                  .renormalises = mixture.renormalises,
                  .router = {.name = "mlp.gate", .outputs = mixture.num_experts, .inputs = spec.hidden_size},
                  .parts = parts_of(spec, "mlp.experts")};
  if (mixture.shared_inner > 0) {
    experts.shared = mlp_named(spec, shared_names, mixture.shared_inner);
    experts.shared_gate = {.name = "mlp.shared_expert_gate", .outputs = 1, .inputs = spec.hidden_size};
  }
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
  Experts experts{.count = mixture.num_experts,
                  .chosen = mixture.chosen,
                  .inner = mixture.inner,
                  .renormalises = mixture.renormalises,
                  .activation = spec.activation,
                  .router = {.name = "router.proj", .outputs = mixture.num_experts, .inputs = spec.hidden_size},
                  .parts = parts_of(spec, "experts")};
  experts.router_scale = {.name = "router.scale", .shape = {spec.hidden_size}, .initial = 1};
  experts.expert_scales = {.name = "router.per_expert_scale", .shape = {mixture.num_experts}, .initial = 1};
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
  return num_mixtures * spec.mixture->chosen;
}

}  // namespace roll
