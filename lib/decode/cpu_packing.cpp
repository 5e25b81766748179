// Weights of the CPU decoder: packed for its GEMMs, in one allocation with the KV cache pages.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "decode/cpu_decoder.h"

namespace roll {

namespace {

/// Returns the linears that read the attention block's input.
std::vector<const LinearShape*> input_linears(const Attention& attention) {
  std::vector<const LinearShape*> parts = {&attention.q, &attention.k, &attention.v};
  if (attention.gate.outputs > 0) parts.push_back(&attention.gate);
  return parts;
}

}  // namespace

template <class T>
int64_t CpuDecoder<T>::packed_bytes(const Linear& linear) const {
  return PackedWeight::room_for(linear.outputs(), linear.inputs(), packed_dtype());
}

template <class T>
PackedWeight CpuDecoder<T>::packed_together(const std::vector<Linear>& linears, StreamedMemory& memory) const {
  int64_t outputs = 0;
  for (const Linear& linear : linears) outputs += linear.outputs();
  PackedWeight packed(outputs, linears[0].inputs(), packed_dtype(), memory);
  int64_t filled = 0;
  for (const Linear& linear : linears) {
    packed.fill(filled, merged_weight(linear));
    filled += linear.outputs();
  }
  return packed;
}

template <class T>
int64_t CpuDecoder<T>::room_for(const Attention& attention, const LayerWeights& weights) const {
  int64_t outputs = 0;
  for (const LinearShape* part : input_linears(attention)) outputs += weights[*part].outputs();
  const int64_t cached_width = attention.kv_heads_per_rank(backbone_.parallel().tp_size()) * attention.head_dim;
  const int64_t pages = sizes_.num_pages * sizes_.page_size * cached_width * static_cast<int64_t>(sizeof(T));
  return PackedWeight::room_for(outputs, hidden_, packed_dtype()) + packed_bytes(weights[attention.o]) +
         2 * StreamedMemory::room_for(pages);
}

template <class T>
int64_t CpuDecoder<T>::room_for(const GatedMlp& mlp, const LayerWeights& weights) const {
  return packed_bytes(weights[mlp.gate]) + packed_bytes(weights[mlp.up]) + packed_bytes(weights[mlp.down]);
}

template <class T>
void CpuDecoder<T>::add_block(const Attention& attention, const Block& block, const LayerWeights& weights,
                              StreamedMemory& memory) {
  std::vector<Linear> parts;
  std::vector<at::Tensor> biases;
  for (const LinearShape* part : input_linears(attention)) {
    parts.push_back(weights[*part]);
    if (parts.back().bias.defined()) biases.push_back(parts.back().bias);
  }
  const int64_t kv_heads = parts[1].outputs() / attention.head_dim;
  const auto pages = [&] {
    return memory.take({sizes_.num_pages, kv_heads * sizes_.page_size * attention.head_dim}, kDtype);
  };
  AttentionBlock attention_block{
      .heads = parts[0].outputs() / attention.head_dim,
      .kv_heads = kv_heads,
      .head_dim = attention.head_dim,
      .qkv = packed_together(parts, memory),
      .o = packed_together({weights[attention.o]}, memory),
      .keys = pages(),
      .values = pages(),
      .q_norm = norm_weight(weights, attention.q_norm),
      .k_norm = norm_weight(weights, attention.k_norm),
      .qkv_bias = biases.empty() ? at::Tensor() : as_float(at::cat(biases)),
      .is_gated = attention.gate.outputs > 0,
      .rotary = attention.rotary,
      .window = attention.window,
      .norms_together = attention.q_norm.width > attention.head_dim,
      .norms_after_rope = attention.norms_after_rope,
      .scale = static_cast<float>(attention.scale()),
      .cap = static_cast<float>(attention.soft_cap),
      .sinks = attention.sinks.name.empty() ? at::Tensor() : as_float(weights[attention.sinks])};
  push_block(std::move(attention_block), block, weights, weights[attention.o].bias);
}

template <class T>
void CpuDecoder<T>::push_block(MixerBlock mixer, const Block& block, const LayerWeights& weights,
                               const at::Tensor& out_bias) {
  blocks_.push_back({.norm = norm_weight(weights, block.norm),
                     .mixer = std::move(mixer),
                     .out_bias = as_float(out_bias),
                     .after = norm_weight(weights, block.after),
                     .scale = static_cast<float>(block.scale)});
}

template <class T>
void CpuDecoder<T>::add_block(const GatedMlp& mlp, const Block& block, const LayerWeights& weights,
                              StreamedMemory& memory) {
  push_block(packed_mlp(mlp, weights, memory), block, weights, weights[mlp.down].bias);
}

template <class T>
typename CpuDecoder<T>::GatedBlock CpuDecoder<T>::packed_mlp(const GatedMlp& mlp, const LayerWeights& weights,
                                                             StreamedMemory& memory) const {
  const Linear &gate = weights[mlp.gate], &up = weights[mlp.up], &down = weights[mlp.down];
  return {.inner = gate.outputs(),
          .gate = packed_together({gate}, memory),
          .up = packed_together({up}, memory),
          .down = packed_together({down}, memory),
          .gate_bias = as_float(gate.bias),
          .up_bias = as_float(up.bias),
          .activation = mlp.activation};
}

template <class T>
void CpuDecoder<T>::pack_weights() {
  const at::NoGradGuard no_grad;
  const Linear head{.weight = model_.head_weight(), .bias = {}, .dtype = model_.dtype()};
  // In 4 bits the head would change the likeliest tokens most, so it keeps 8.
  const at::ScalarType head_dtype = sizes_.weight_bits > 0 ? at::kChar : kDtype;
  int64_t bytes = PackedWeight::room_for(head.outputs(), head.inputs(), head_dtype);
  for (const LayerWeights& weights : backbone_.layers())
    for (const Block& block : weights.layer())
      CpuMixers::visit(block.mixer, [&](const auto& mixer) { bytes += room_for(mixer, weights); });
  StreamedMemory memory(bytes);
  for (const LayerWeights& weights : backbone_.layers())
    for (const Block& block : weights.layer())
      CpuMixers::visit(block.mixer, [&](const auto& mixer) { add_block(mixer, block, weights, memory); });
  lm_head_ = PackedWeight(head.outputs(), head.inputs(), head_dtype, memory);
  lm_head_.fill(0, head.weight);
  embedding_ = backbone_.embedding().detach().to(kDtype);
  final_norm_ = final_norm_weight(backbone_, model_.spec());
}

#define ROLL_INSTANTIATE(T)                                                                                           \
  template int64_t CpuDecoder<T>::packed_bytes(const Linear&) const;                                                  \
  template int64_t CpuDecoder<T>::room_for(const GatedMlp&, const LayerWeights&) const;                               \
  template PackedWeight CpuDecoder<T>::packed_together(const std::vector<Linear>&, StreamedMemory&) const;            \
  template CpuDecoder<T>::GatedBlock CpuDecoder<T>::packed_mlp(const GatedMlp&, const LayerWeights&, StreamedMemory&) \
      const;                                                                                                          \
  template void CpuDecoder<T>::push_block(MixerBlock, const Block&, const LayerWeights&, const at::Tensor&);          \
  template void CpuDecoder<T>::pack_weights();
ROLL_INSTANTIATE(float)
ROLL_INSTANTIATE(c10::BFloat16)
#undef ROLL_INSTANTIATE

}  // namespace roll
