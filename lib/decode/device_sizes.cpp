#include "decode/device_sizes.h"

#include <algorithm>

#include "cuda/launch_kernel.h"
#include "decode/device_decoder.h"

namespace roll {

namespace {

int64_t rounded_up(int64_t x, int64_t unit) {
  return (x + unit - 1) / unit * unit;
}

/// Returns the elements of a rank's merged copy of a quantised or LoRA weight; 0 if the model's own weight is read.
int64_t merged_numel(const LinearShape& linear, int64_t tp) {
  return linear.adapter.rank > 0 || linear.quantised ? linear.outputs * ((linear.inputs + tp - 1) / tp) : 0;
}

void add_widths(RowWidths& widths, const Attention& attention, int64_t tp) {
  const int64_t heads = attention.num_heads / tp;
  const int64_t qkv = (heads + 2 * attention.kv_heads_per_rank(tp)) * attention.head_dim;
  widths.qkv = std::max(widths.qkv, qkv);
  widths.mixed = std::max(widths.mixed, heads * attention.head_dim);
  widths.heads = std::max(widths.heads, heads);
  widths.cached = std::max(widths.cached, attention.own_cost(tp).cached);
  widths.copied += qkv * (attention.q.inputs + 1) + merged_numel(attention.o, tp);
}

void add_widths(RowWidths& widths, const GatedMlp& mlp, int64_t tp) {
  const int64_t inner = (mlp.inner + tp - 1) / tp;
  widths.inner = std::max(widths.inner, inner);
  widths.copied += 2 * inner * (mlp.gate.inputs + 1) + merged_numel(mlp.down, tp);
}

void add_widths(RowWidths& widths, const Experts& experts, int64_t tp) {
  MixtureWidths& mixture = widths.mixture;
  mixture.experts = std::max(mixture.experts, experts.routing.count);
  mixture.chosen = std::max(mixture.chosen, experts.routing.chosen);
  mixture.routed = std::max(mixture.routed, experts.router.outputs + experts.shared_gate.outputs);
  mixture.inner = std::max(mixture.inner, experts.inner / tp);
  widths.copied += experts.router.inputs * (experts.router.outputs + experts.shared_gate.outputs);
  if (experts.shared) add_widths(widths, *experts.shared, tp);
}

/// Returns true if the kernels support the block. One launch copies pages of all blocks, so cache widths must be equal.
bool supports(const Attention& attention, const RowWidths& widths, int64_t tp) {
  return attention.head_dim % 8 == 0 && attention.head_dim <= kMaxHeadDim &&
         attention.own_cost(tp).cached == widths.cached;
}
bool supports(const GatedMlp& mlp, const RowWidths&, int64_t tp) {
  return mlp.inner % (4 * tp) == 0 && (mlp.activation == Activation::kSilu || mlp.activation == Activation::kGeluTanh);
}
/// Returns true if the kernels support the mixture. Experts must have neither adapters nor quantised weights, whose
/// merged copies would take as much memory as the model.
bool supports(const Experts& experts, const RowWidths& widths, int64_t tp) {
  const auto is_plain = [](const LinearShape& linear) { return linear.adapter.rank == 0 && !linear.quantised; };
  return std::ranges::all_of(experts.parts->linears, is_plain) && experts.routing.count <= kMostExperts &&
         experts.routing.chosen <= kMostChosen && experts.activation == Activation::kSilu &&
         experts.inner % (8 * tp) == 0 && experts.router.inputs % 8 == 0 &&
         (!experts.shared || supports(*experts.shared, widths, tp));
}

}  // namespace

int64_t MixtureWidths::most_tiles(int64_t rows) const {
  return SortChoices::most_tiles(rows * chosen, experts, kSmallTile);
}

RowWidths row_widths(const ModelSpec& spec, int64_t tp) {
  RowWidths widths{.vocab = rounded_up((spec.vocab_size + tp - 1) / tp, 4)};  // rows are 16-byte aligned
  for (const Layer& layer : spec.layers())
    for (const Block& block : layer)
      DeviceMixers::visit(block.mixer, [&](const auto& mixer) { add_widths(widths, mixer, tp); });
  return widths;
}

bool has_device_kernels(const Transformer& model) {
  const std::vector<Layer> layers = model.spec().layers();
  const int64_t tp = model.parallel().tp_size();
  bool has_all = model.spec().hidden_size % 4 == 0 && tp <= kMostParts && model.parallel().ep_size() == 1 &&
                 (model.dtype() == at::kFloat || is_narrow(model.dtype())) && DeviceMixers::include_all(layers) &&
                 layer_features(model.spec()).are_within(kDeviceFeatures);
  if (!has_all) return false;
  const RowWidths widths = row_widths(model.spec(), tp);
  for (const Layer& layer : layers)
    for (const Block& block : layer)
      DeviceMixers::visit(block.mixer, [&](const auto& mixer) { has_all = has_all && supports(mixer, widths, tp); });
  return has_all;
}

int64_t device_decoder_bytes(const Transformer& model, int64_t max_rows, int64_t num_slots, int64_t num_processors) {
  const int64_t hidden = model.spec().hidden_size, tp = model.parallel().tp_size();
  const RowWidths widths = row_widths(model.spec(), tp);
  const MixtureWidths& mixture = widths.mixture;
  const int64_t row = widths.qkv + widths.mixed + 2 * hidden + 3 * widths.inner + mixture.chosen * mixture.inner;
  const int64_t max_draws = (num_slots + tp - 1) / tp;  // rows per rank
  int64_t sums = tp > 1 || mixture.chosen > 0 ? hidden : 0;
  if (mixture.chosen > 0) sums += hidden + mixture.routed + mixture.chosen * (hidden + 4);  // 4: numbers per choice
  const int64_t logits = (tp > 1 ? 2 : 1) * tp * max_draws * widths.vocab;
  const int64_t parts = int64_t{8} * num_processors * kMaxHeadDim * widths.heads;
  const int64_t wide =
      max_rows * (hidden + sums) + logits + parts;  // float32: residual stream, sums, logits, parts, and 32-bit numbers
  return (widths.copied + max_rows * row + num_slots * hidden) * static_cast<int64_t>(at::elementSize(model.dtype())) +
         wide * static_cast<int64_t>(sizeof(float)) + max_draws * static_cast<int64_t>(sizeof(RowScratch));
}

}  // namespace roll
