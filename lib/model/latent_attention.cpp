#include "model/latent_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config_reader.h"
#include "model/spec.h"

namespace roll {

namespace {

constexpr double kNormEps = 1e-6;  // epsilon of the norms of latents; rms_norm_eps does not apply to them

}  // namespace

void read_latent(const ConfigReader& config, ModelSpec& spec) {
  LatentSpec& latent = spec.latent.emplace();
  if (!config.names("q_lora_rank")) config.fail("q_lora_rank", "a whole number is needed, or null for none");
  latent.query_dim = config.count("q_lora_rank", SizeLimits::kHidden, 0);
  latent.latent_dim = config.count("kv_lora_rank", SizeLimits::kHidden);
  latent.key_dim = config.count("qk_nope_head_dim", SizeLimits::kHeadDim);
  latent.rotated_dim = config.count("qk_rope_head_dim", SizeLimits::kHeadDim);
  latent.value_dim = config.count("v_head_dim", SizeLimits::kHeadDim);
  if (latent.rotated_dim % 2 != 0)
    config.fail("qk_rope_head_dim", "must be even, because rotary embeddings rotate pairs");
  if (spec.num_kv_heads != spec.num_heads)
    config.fail("num_key_value_heads",
                fmt::format("must equal num_attention_heads ({}): latents are made for each head", spec.num_heads));
  spec.head_dim = latent.key_dim + latent.rotated_dim;
}

double latent_score_scale(const ModelSpec& spec) {
  const double temperature = yarn_temperature(spec.rope.factor, spec.rope.mscale_all_dim);
  return temperature * temperature / std::sqrt(static_cast<double>(spec.latent->key_dim + spec.latent->rotated_dim));
}

void write_latent(const ModelSpec& spec, Json& config) {
  const LatentSpec& latent = *spec.latent;
  config.update({{"q_lora_rank", latent.query_dim > 0 ? Json(latent.query_dim) : Json()},
                 {"kv_lora_rank", latent.latent_dim},
                 {"qk_nope_head_dim", latent.key_dim},
                 {"qk_rope_head_dim", latent.rotated_dim},
                 {"v_head_dim", latent.value_dim},
                 {"head_dim", latent.rotated_dim}});  // transformers writes this, too
}

LatentAttention make_latent_attention(const ModelSpec& spec, const MakeLinear& linear) {
  const LatentSpec& l = *spec.latent;
  const int64_t heads = spec.num_heads, hidden = spec.hidden_size, query = l.key_dim + l.rotated_dim;
  const auto by_heads = [&](int64_t dim, int64_t width) { return Cut{.dim = dim, .count = heads, .width = width}; };
  const auto biased = [&](const std::string& name, int64_t outputs, int64_t inputs, bool has_bias, Cut cut = {}) {
    LinearShape made = linear(name, outputs, inputs, cut, {});
    made.has_bias = has_bias;
    return made;
  };
  // The names must outlive the description.
  static const std::string kQ = "self_attn.q_proj", kQDown = "self_attn.q_a_proj", kQUp = "self_attn.q_b_proj",
                           kKvDown = "self_attn.kv_a_proj_with_mqa", kKvUp = "self_attn.kv_b_proj",
                           kOut = "self_attn.o_proj";
  const bool has_down = l.query_dim > 0;
  const Rope rope = spec.ropes().front();
  return {
      .num_heads = heads,
      .latent_dim = l.latent_dim,
      .key_dim = l.key_dim,
      .rotated_dim = l.rotated_dim,
      .value_dim = l.value_dim,
      .q_down = has_down ? biased(kQDown, l.query_dim, hidden, spec.qkv_bias) : LinearShape(),
      .q = linear(has_down ? kQUp : kQ, heads * query, has_down ? l.query_dim : hidden, by_heads(0, query), {}),
      .kv_down = biased(kKvDown, l.latent_dim + l.rotated_dim, hidden, spec.qkv_bias),
      .kv_up = linear(kKvUp, heads * (l.key_dim + l.value_dim), l.latent_dim, by_heads(0, l.key_dim + l.value_dim), {}),
      .o = biased(kOut, hidden, heads * l.value_dim, spec.o_bias, by_heads(1, l.value_dim)),
      .q_norm = {.name = "self_attn.q_a_layernorm", .width = l.query_dim, .eps = kNormEps},
      .latent_norm = {.name = "self_attn.kv_a_layernorm", .width = l.latent_dim, .eps = kNormEps},
      .rotary = {.dim = rope.dim, .interleaved = rope.interleaved, .scale = rope.attention_factor},
      .score_scale = spec.score_scale};
}

}  // namespace roll
