#include "model/backbone.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "model/rotary.h"
#include "model/weights.h"
#include "ops/attention.h"
#include "ops/layer_ops.h"
#include "ops/recompute.h"
#include "ops/stable_rows.h"

namespace roll {

namespace {

/// q, k, v -> what the heads read, [T, H, D]; the only thing in which training, prefill and decoding differ.
using Attend = std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;

/// A packed token's row of the table is its position.
Rotation packed_rotation(const at::Tensor& inverse_frequencies, const PackedTokens& tokens) {
  const at::Tensor all = at::arange(tokens.max_length(), tokens.positions.options());
  return make_rotation(inverse_frequencies, all, tokens.positions);
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  return at::linear(x, linear.weight, linear.bias);
}

at::Tensor attention_branch(const ModelSpec& spec, const LayerWeights& layer, const at::Tensor& x,
                            const Rotation& rotation, const Attend& attend) {
  const auto heads = [&](const Linear& projection) {
    return apply(projection, x).view({x.size(0), -1, spec.head_dim});
  };
  const auto turned = [&](const at::Tensor& raw, const at::Tensor& norm) {
    const at::Tensor normed = norm.defined() ? rms_norm(raw, norm, spec.rms_norm_eps) : raw;
    return rotate(normed, rotation);
  };
  const at::Tensor mixed =
      attend(turned(heads(layer.q), layer.q_norm), turned(heads(layer.k), layer.k_norm), heads(layer.v));
  return apply(layer.o, mixed.reshape({x.size(0), -1}));
}

at::Tensor run_layer(const ModelSpec& spec, const LayerWeights& layer, const at::Tensor& x, const Rotation& rotation,
                     const Attend& attend) {
  const at::Tensor attended =
      x + attention_branch(spec, layer, rms_norm(x, layer.input_norm, spec.rms_norm_eps), rotation, attend);
  const at::Tensor normed = rms_norm(attended, layer.post_norm, spec.rms_norm_eps);
  return attended + apply(layer.down, swiglu(apply(layer.gate, normed), apply(layer.up, normed)));
}

double attention_scale(const ModelSpec& spec) {
  return 1.0 / std::sqrt(static_cast<double>(spec.head_dim));
}

/// Optional tensors of the spec stay undefined.
class LayerReader {
 public:
  LayerReader(const NamedTensors& parameters, std::string prefix)
      : parameters_(parameters), prefix_(std::move(prefix)) {}
  at::Tensor tensor(const std::string& name, bool exists = true) const {
    return exists ? parameter(parameters_, prefix_ + name) : at::Tensor();
  }
  Linear linear(const std::string& name, bool bias) const {
    return {tensor(name + ".weight"), tensor(name + ".bias", bias)};
  }

 private:
  const NamedTensors& parameters_;
  std::string prefix_;
};

LayerWeights read_layer(const ModelSpec& spec, const LayerReader& reader) {
  return {.input_norm = reader.tensor("input_layernorm.weight"),
          .post_norm = reader.tensor("post_attention_layernorm.weight"),
          .q = reader.linear("self_attn.q_proj", spec.qkv_bias),
          .k = reader.linear("self_attn.k_proj", spec.qkv_bias),
          .v = reader.linear("self_attn.v_proj", spec.qkv_bias),
          .o = reader.linear("self_attn.o_proj", spec.o_bias),
          .q_norm = reader.tensor("self_attn.q_norm.weight", spec.qk_norm),
          .k_norm = reader.tensor("self_attn.k_norm.weight", spec.qk_norm),
          .gate = reader.linear("mlp.gate_proj", spec.mlp_bias),
          .up = reader.linear("mlp.up_proj", spec.mlp_bias),
          .down = reader.linear("mlp.down_proj", spec.mlp_bias)};
}

/// Row of the cache, seen as [S * L, Hkv, D], for each token that is appended to its slot.
at::Tensor cache_rows(const KvCache& cache, at::IntArrayRef slots, const std::vector<int64_t>& counts,
                      at::Device device) {
  std::vector<int64_t> rows;
  for (size_t b = 0; b < slots.size(); ++b) {
    ROLL_CHECK(cache.length(slots[b]) + counts[b] <= cache.max_length(), "the tokens fit their slot");
    for (int64_t i = 0; i < counts[b]; ++i) rows.push_back(slots[b] * cache.max_length() + cache.length(slots[b]) + i);
  }
  return at::tensor(rows, at::kLong).to(device);
}

void append(const at::Tensor& cache, const at::Tensor& rows, const at::Tensor& fresh) {
  cache.view({-1, cache.size(2), cache.size(3)}).index_copy_(0, rows, fresh.contiguous());
}

}  // namespace

std::vector<at::Tensor> LayerWeights::all() const {
  std::vector<at::Tensor> defined;
  for (const at::Tensor& tensor :
       {input_norm, post_norm, q.weight, q.bias, k.weight, k.bias, v.weight, v.bias, o.weight, o.bias, q_norm, k_norm,
        gate.weight, gate.bias, up.weight, up.bias, down.weight, down.bias})
    if (tensor.defined()) defined.push_back(tensor);
  return defined;
}

Backbone::Backbone(const ModelSpec& spec, const NamedTensors& parameters)
    : spec_(spec),
      embedding_(parameter(parameters, "model.embed_tokens.weight")),
      final_norm_(parameter(parameters, "model.norm.weight")),
      inverse_frequencies_(inverse_frequencies(spec).to(embedding_.device())) {
  for (int64_t i = 0; i < spec.num_layers; ++i)
    layers_.push_back(read_layer(spec, {parameters, fmt::format("model.layers.{}.", i)}));
}

at::Tensor Backbone::embed(const at::Tensor& ids) const {
  return at::embedding(embedding_, ids);
}

at::Tensor Backbone::forward(const PackedTokens& tokens, bool recompute) const {
  const Rotation rotation = packed_rotation(inverse_frequencies_, tokens);
  const Attend attend = [cu_seqlens = tokens.cu_seqlens, scale = attention_scale(spec_)](
                            const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    return packed_attention(q, k, v, cu_seqlens, scale);
  };
  at::Tensor x = embed(tokens.ids);
  for (const LayerWeights& layer : layers_) {
    const auto block = [spec = spec_, layer, rotation, attend](const at::Tensor& input) {
      return run_layer(spec, layer, input, rotation, attend);
    };
    x = recompute ? recomputed(block, x, layer.all()) : block(x);
  }
  return rms_norm(x, final_norm_, spec_.rms_norm_eps);
}

at::Tensor Backbone::prefill(const PackedTokens& prompts, KvCache& cache, at::IntArrayRef slots) const {
  ROLL_CHECK_EQ(prompts.num_sequences(), static_cast<int64_t>(slots.size()), "one slot per prompt");
  std::vector<int64_t> counts;
  for (size_t b = 0; b < slots.size(); ++b) {
    ROLL_CHECK_EQ(cache.length(slots[b]), 0, "a prompt goes to an empty slot");
    counts.push_back(prompts.length(static_cast<int64_t>(b)));
  }
  const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t) {
    return packed_attention(q, k, v, prompts.cu_seqlens, attention_scale(spec_));
  };
  return append_tokens(prompts.ids, packed_rotation(inverse_frequencies_, prompts), cache, slots, counts, attend);
}

at::Tensor Backbone::decode(const at::Tensor& ids, KvCache& cache, at::IntArrayRef slots) const {
  std::vector<int64_t> positions, lengths;
  for (const int64_t slot : slots) {
    ROLL_CHECK(cache.length(slot) > 0, "the slot has a prompt");
    positions.push_back(cache.length(slot));
    lengths.push_back(cache.length(slot) + 1);
  }
  const auto on_device = at::TensorOptions().dtype(at::kLong).device(device());
  const at::Tensor places = at::tensor(positions, at::kLong).to(device());
  const Rotation rotation = make_rotation(inverse_frequencies_, places, at::arange(ids.numel(), on_device));
  const auto attend = [&](const at::Tensor& q, const at::Tensor&, const at::Tensor&, int64_t layer) {
    return cached_attention(q, cache.keys(layer), cache.values(layer), slots, lengths, attention_scale(spec_));
  };
  return append_tokens(ids, rotation, cache, slots, std::vector<int64_t>(slots.size(), 1), attend);
}

at::Tensor Backbone::append_tokens(const at::Tensor& ids, const Rotation& rotation, KvCache& cache,
                                   at::IntArrayRef slots, const std::vector<int64_t>& counts,
                                   const CachedAttend& attend) const {
  const at::NoGradGuard no_grad;
  const at::Tensor rows = cache_rows(cache, slots, counts, device());
  at::Tensor x = embed(with_stable_rows(ids));
  const Rotation padded{rotation.cos, rotation.sin, with_stable_rows(rotation.rows)};
  const auto real = [count = ids.numel()](const at::Tensor& y) { return y.slice(0, 0, count); };
  for (int64_t i = 0; i < spec_.num_layers; ++i)
    x = run_layer(spec_, layers_[i], x, padded, [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
      append(cache.keys(i), rows, real(k));
      append(cache.values(i), rows, real(v));
      return with_stable_rows(attend(real(q), real(k), real(v), i));
    });
  for (size_t b = 0; b < slots.size(); ++b) cache.set_length(slots[b], cache.length(slots[b]) + counts[b]);
  return real(rms_norm(x, final_norm_, spec_.rms_norm_eps));
}

}  // namespace roll
