#include "model/layer.h"

#include <cmath>
#include <type_traits>

namespace roll {

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  flops += other.flops;
  square_flops += other.square_flops;
  cached += other.cached;
  states += other.states;
  for (const auto& [window, window_flops] : other.windowed) windowed[window] += window_flops;
  return *this;
}

double LayerCost::pair_flops(double length) const {
  double sum = square_flops * length * length;
  for (const auto& [window, window_flops] : windowed) {
    const double seen = std::min(length, static_cast<double>(window));  // tokens that the last token sees
    sum += window_flops * (2 * length - seen) * seen;
  }
  return sum;
}

int64_t LayerCost::page_bytes(int64_t tokens, int64_t number_bytes) const {
  return tokens * cached * number_bytes + states * std::max<int64_t>(4, number_bytes);
}

int64_t LayerCost::page_tokens(int64_t least, int64_t number_bytes) const {
  constexpr int64_t kMost = 1024;  // limit, because prompts share only whole pages
  if (states == 0) return least;
  const int64_t token = std::max<int64_t>(1, cached * number_bytes);
  const int64_t balanced = (page_bytes(0, number_bytes) + token * least - 1) / (token * least) * least;
  return std::clamp(balanced, least, std::max(least, kMost / least * least));
}

double Attention::scale() const {
  return score_scale > 0 ? score_scale : 1.0 / std::sqrt(static_cast<double>(head_dim));
}

LayerCost Attention::own_cost(int64_t tp) const {
  // Two products of 2 FLOPs per pair of tokens; causal attention computes half of all pairs.
  const double flops_per_pair = 2.0 * static_cast<double>(num_heads * head_dim);
  LayerCost cost = {.cached = k.outputs > 0 ? 2 * kv_heads_per_rank(tp) * head_dim : 0};
  if (window > 0)
    cost.windowed[window] = flops_per_pair;
  else
    cost.square_flops = flops_per_pair;
  return cost;
}

std::string Attention::sharing_rule(int64_t tp) const {
  if (num_heads % tp != 0) return fmt::format("must divide the model's {} attention heads", num_heads);
  if (num_kv_heads % tp == 0 || tp % num_kv_heads == 0) return "";
  return fmt::format("must divide the model's {} key/value heads, or be a multiple of that number", num_kv_heads);
}

Attention LatentAttention::over_heads() const {
  return {.num_heads = num_heads,
          .num_kv_heads = num_heads,
          .head_dim = std::max(key_dim + rotated_dim, value_dim),
          .score_scale = score_scale};
}

Attention LatentAttention::over_latents() const {
  Attention shared = over_heads();
  shared.num_kv_heads = 1;
  shared.head_dim = cached_dim();
  return shared;
}

LayerCost LatentAttention::own_cost(int64_t) const {
  // FLOPs per pair of tokens as in Attention::own_cost(), with the sizes of training.
  return {.square_flops = static_cast<double>(num_heads * (key_dim + rotated_dim + value_dim)), .cached = cached_dim()};
}

std::string LatentAttention::sharing_rule(int64_t tp) const {
  return num_heads % tp == 0 ? "" : fmt::format("must divide the model's {} attention heads", num_heads);
}

std::string GatedMlp::sharing_rule(int64_t tp) const {
  return tp <= inner ? "" : fmt::format("must be at most {}, the size of the model's MLPs", inner);
}

std::string Experts::sharing_rule(int64_t tp) const {
  if (tp > inner) return fmt::format("must be at most {}, the size of the model's experts", inner);
  return shared ? shared->sharing_rule(tp) : "";
}

std::string MlpBesideExperts::sharing_rule(int64_t tp) const {
  const std::string rule = mlp.sharing_rule(tp);
  return rule.empty() ? experts.sharing_rule(tp) : rule;
}

LayerCost GatedDeltaNet::own_cost(int64_t tp) const {
  // FLOPs per state element: decay, read by key, correct, read by query.
  const auto state_elements = static_cast<double>(value_heads * key_dim * value_dim);
  return {.flops = 7 * state_elements + 2 * static_cast<double>(kernel * convolved()),
          .states = (value_heads * key_dim * value_dim + (kernel - 1) * convolved()) / tp};
}

std::string GatedDeltaNet::sharing_rule(int64_t tp) const {
  return key_heads % tp == 0 ? "" : fmt::format("must divide the {} key heads of the model's delta nets", key_heads);
}

LayerCost layer_cost(const Layer& layer, int64_t tp) {
  LayerCost cost;
  for_each_part(layer, [&](const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const LinearShape&>)
      cost.flops += part.share * 2.0 *
                    static_cast<double>(part.outputs * part.inputs + part.adapter.rank * (part.outputs + part.inputs));
  });
  for (const Block& block : layer)
    cost += std::visit([tp](const auto& mixer) { return mixer.own_cost(tp); }, block.mixer);
  return cost;
}

LayerCost layer_cost(const std::vector<Layer>& layers, int64_t tp) {
  LayerCost cost;
  for (const Layer& layer : layers) cost += layer_cost(layer, tp);
  return cost;
}

}  // namespace roll
