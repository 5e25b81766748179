#include "model/init_spec.h"

#include <nlohmann/json.hpp>

#include "config/flag.h"

namespace roll {

namespace {

int64_t vocabulary(const InitSizes& sizes, std::optional<int64_t> needed) {
  if (!sizes.vocab && !needed) throw user_error("--vocab: is missing; it is required without a tokenizer");
  if (needed && sizes.vocab && *sizes.vocab < *needed)
    throw user_error("--vocab = {}: the tokenizer needs at least {}", *sizes.vocab, *needed);
  return sizes.vocab ? *sizes.vocab : *needed;
}

/// With sigmoid routers the first layer has a plain MLP, as in the released models.
MixtureSpec make_mixture(const InitSizes& sizes, const Architecture& row) {
  MixtureSpec mixture{.routing = {.count = sizes.experts.value_or(8),
                                  .chosen = sizes.experts_per_token.value_or(2),
                                  .is_sigmoid = row.has_sigmoid_routers(),
                                  .renormalises = row.renormalises || !(row.has_shared_expert || row.is_deepseek())},
                      .inner = sizes.expert_intermediate.value_or(sizes.hidden)};
  const RoutingRule& rule = mixture.routing;
  if (rule.chosen > rule.count)
    throw user_error("--experts-per-token = {}: must be at most --experts ({})", rule.chosen, rule.count);
  if (row.has_shared_expert || row.is_deepseek()) mixture.shared_inner = mixture.inner;
  if (row.is_deepseek()) mixture.dense_layers = {0};
  return mixture;
}

/// Returns Gemma 4's keys of full heads, in the ratios of the released models.
Json usual_full_heads(const ModelSpec& spec, const InitSizes& sizes) {
  const bool is_small = sizes.layer_input > 0 || sizes.keyless_layers > 0;  // like Gemma 4 E2B
  if (sizes.keyless_layers > sizes.layers - 2)
    throw user_error("--keyless-layers = {}: must leave at least 2 of --layers ({}), one of each kind",
                     sizes.keyless_layers, sizes.layers);
  Json config = {{"global_head_dim", 2 * spec.head_dim},
                 {"attention_k_eq_v", !is_small},
                 {"hidden_size_per_layer_input", sizes.layer_input},
                 {"vocab_size_per_layer_input", spec.vocab_size},
                 {"num_kv_shared_layers", sizes.keyless_layers},
                 {"use_double_wide_mlp", sizes.keyless_layers > 0}};
  if (sizes.keyless_layers > 0)  // they need an earlier layer of each kind
    for (int64_t i = 0; i < sizes.layers; ++i)
      config["layer_types"].push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  return config;
}

/// Returns sizes of latent attention for heads of spec.head_dim elements, in the ratios of DeepSeek-V3.
LatentSpec usual_latents(const ModelSpec& spec) {
  return {.query_dim = spec.hidden_size / 2,
          .latent_dim = 4 * spec.head_dim,
          .key_dim = spec.head_dim,
          .rotated_dim = std::max<int64_t>(2, spec.head_dim / 4 * 2),
          .value_dim = spec.head_dim};
}

/// Checks that sizes, each within its range, fit together.
void check_sizes(const ModelSpec& spec) {
  if (spec.num_heads % spec.num_kv_heads != 0)
    throw user_error("--kv-heads = {}: must divide --heads ({})", spec.num_kv_heads, spec.num_heads);
  if (spec.head_dim % 2 != 0)
    throw user_error("--head-dim = {}: must be even, because rotary embeddings rotate pairs", spec.head_dim);
}

}  // namespace

ModelSpec make_spec(const InitSizes& sizes, std::optional<int64_t> needed_vocab, const Architectures& known) {
  check_ranges(sizes);
  ModelSpec spec;
  spec.architecture = &find_architecture(sizes.arch, "--arch", known);
  spec.vocab_size = vocabulary(sizes, needed_vocab);
  spec.hidden_size = sizes.hidden;
  spec.num_layers = sizes.layers;
  spec.num_heads = sizes.heads;
  if (!sizes.head_dim && sizes.hidden % sizes.heads != 0)
    throw user_error("--hidden = {}: must be divisible by --heads ({}), or give --head-dim", sizes.hidden, sizes.heads);
  spec.num_kv_heads = sizes.kv_heads.value_or(sizes.heads);
  spec.head_dim = sizes.head_dim.value_or(sizes.hidden / sizes.heads);
  spec.intermediate_size = sizes.intermediate.value_or(4 * sizes.hidden);
  spec.max_positions = sizes.max_positions;
  check_sizes(spec);
  const Architecture& row = *spec.architecture;
  if (row.has_latents) {
    if (sizes.kv_heads) throw user_error("--kv-heads: has no effect in {}; leave it out", sizes.arch);
    spec.latent = usual_latents(spec);
    spec.head_dim = spec.latent->key_dim + spec.latent->rotated_dim;
  }
  if (!row.full_heads && (sizes.layer_input > 0 || sizes.keyless_layers > 0))
    throw user_error(
        "--arch = {}: has no per-layer inputs and no keyless layers; leave out --layer-input and --keyless-layers",
        sizes.arch);
  read_features(row.full_heads ? usual_full_heads(spec, sizes) : Json::object(), "--arch", spec);
  if (row.is_multimodal)
    throw user_error("--arch = {}: has parts that init-model cannot make; use {}", sizes.arch, row.text_row);
  const bool wants_experts = sizes.experts || sizes.experts_per_token || sizes.expert_intermediate;
  if (row.has_experts() || (row.mixtures == Mixtures::kBesideMlps && wants_experts))
    spec.mixture = make_mixture(sizes, row);
  if (row.mixtures == Mixtures::kMixtral) spec.intermediate_size = spec.mixture->inner;
  if (spec.delta) {
    spec.delta->key_heads = spec.num_kv_heads;
    spec.delta->value_heads = spec.num_heads;
    spec.delta->key_dim = spec.delta->value_dim = spec.head_dim;
  }
  if (!spec.mixture && wants_experts)
    throw user_error("--arch = {}: has no experts; leave out --experts, --experts-per-token and --expert-intermediate",
                     sizes.arch);
  spec.rope.theta = sizes.rope_theta;
  spec.tied_head = sizes.tie;
  if (sizes.mtp && !row.mtp)
    throw user_error("--arch = {}: has no multi-token-prediction head; leave out --mtp", sizes.arch);
  spec.trains_mtp = sizes.mtp;
  return spec;
}

}  // namespace roll
