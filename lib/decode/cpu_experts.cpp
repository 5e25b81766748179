// MoE layers of the CPU decoder: rows are grouped by expert; weights of experts without rows are not read.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decode/cpu_decoder.h"
#include "ops/choose_experts.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

/// Returns the router's weight, with the shared expert's gate as last row if there is one; float32.
at::Tensor router_rows(const Experts& experts, const LayerWeights& weights) {
  at::Tensor rows = weights[experts.router].weight;
  if (experts.shared_gate.outputs > 0) rows = at::cat({rows, weights[experts.shared_gate].weight});
  return rows.detach().to(at::kFloat);
}

/// Returns the biases of experts' products, [experts, outputs]; undefined if they have none. `first`: the first one's
/// entry, from which the others lie `step` entries apart.
at::Tensor stacked_biases(const std::pair<std::string_view, Linear>* first, int64_t step, int64_t experts) {
  if (!first->second.bias.defined()) return {};
  std::vector<at::Tensor> biases;
  for (int64_t e = 0; e < experts; ++e) biases.push_back(first[e * step].second.bias);
  return as_float(at::stack(biases));
}

/// Returns an expert's row; null if there are no biases.
const float* bias_of_expert(const at::Tensor& biases, int64_t expert) {
  return biases.defined() ? biases.const_data_ptr<float>() + expert * biases.size(1) : nullptr;
}

}  // namespace

template <class T>
int64_t CpuDecoder<T>::room_for(const Experts& experts, const LayerWeights& weights) const {
  int64_t bytes = PackedWeight::room_for(experts.routing.count + 1, hidden_, at::kFloat);
  for (const LinearShape& part : experts.parts->linears) bytes += packed_bytes(weights[part]);
  return experts.shared ? bytes + room_for(*experts.shared, weights) : bytes;
}

template <class T>
void CpuDecoder<T>::add_block(const Experts& experts, const Block& block, const LayerWeights& weights,
                              StreamedMemory& memory) {
  const at::Tensor router = router_rows(experts, weights);
  ExpertsBlock experts_block{.routing = experts.routing,
                             .number = experts.number,
                             .bias = {},
                             .router_bias = as_float(weights[experts.router].bias),
                             .gate_biases = {},
                             .up_biases = {},
                             .down_biases = {},
                             .activation = experts.activation,
                             .router = PackedWeight(router.size(0), hidden_, at::kFloat, memory),
                             .gates_shared = experts.shared_gate.outputs > 0,
                             .gates = {},
                             .ups = {},
                             .downs = {},
                             .inner = 0,
                             .shared = {}};
  experts_block.router.fill(0, router);
  if (!experts.bias.name.empty()) experts_block.bias = weights[experts.bias].detach().to(at::kFloat).contiguous();
  const auto* const parts = weights.from(experts.parts->linears.front());
  experts_block.inner = parts[0].second.outputs();
  const int64_t count = experts.routing.count;
  experts_block.gate_biases = stacked_biases(parts, 2, count);
  experts_block.up_biases = stacked_biases(parts + 1, 2, count);
  if (backbone_.parallel().tp_rank() == 0) experts_block.down_biases = stacked_biases(parts + 2 * count, 1, count);
  for (int64_t e = 0; e < count; ++e) {
    experts_block.gates.push_back(packed_together({parts[2 * e].second}, memory));
    experts_block.ups.push_back(packed_together({parts[2 * e + 1].second}, memory));
    experts_block.downs.push_back(packed_together({parts[2 * count + e].second}, memory));
  }
  if (experts.shared) experts_block.shared = packed_mlp(*experts.shared, weights, memory);
  push_block(std::move(experts_block), block, weights, /*out_bias=*/at::Tensor());
}

template <class T>
void CpuDecoder<T>::mix(Member& member, const ExpertsBlock& block) {
  if (block.shared) mix(member, *block.shared);
  multiply(member, block.router, tensor_rows<T>(input_), std::ssize(rows_), tensor_rows(router_logits_));
  member.once([&] {
    const auto choices = static_cast<size_t>(std::ssize(rows_) * block.routing.chosen);
    choices_.resize(choices), choice_weights_.resize(choices), choice_indices_.resize(choices);
  });
  choose(member, block);
  member.once([&] { sort_choices(block); });
  run_experts(member, block);
  combine(member, block);
}

template <class T>
void CpuDecoder<T>::choose(Member& member, const ExpertsBlock& block) {
  const Rows logits = tensor_rows(router_logits_);
  const int64_t chosen = block.routing.chosen;
  const float *const bias = data_or_null(block.bias), *const router_bias = data_or_null(block.router_bias);
  member.share(std::ssize(rows_), [&](int64_t i) {
    int32_t* const choices = choices_.data() + i * chosen;
    if (router_bias) add_to_row(logits[i], router_bias, nullptr, block.routing.count);
    choose_experts(logits[i], block.routing, bias, choices, choice_weights_.data() + i * chosen);
    if (record_.is_kept()) std::copy_n(choices, chosen, record_.entries(rows_[i]) + block.number * chosen);
  });
}

template <class T>
void CpuDecoder<T>::sort_choices(const ExpertsBlock& block) {
  std::vector<int64_t> begins(static_cast<size_t>(block.routing.count + 1));
  for (const int32_t expert : choices_) ++begins[expert + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  expert_rows_.clear();
  for (int64_t e = 0; e < block.routing.count; ++e) {
    if (begins[e] == begins[e + 1]) continue;
    expert_rows_.push_back({.expert = e, .first = begins[e], .count = begins[e + 1] - begins[e]});
    expert_bytes_ += block.gates[e].bytes() + block.ups[e].bytes() + block.downs[e].bytes();
  }
  for (size_t i = 0; i < choices_.size(); ++i) choice_indices_[i] = begins[choices_[i]]++;
}

template <class T>
void CpuDecoder<T>::run_experts(Member& member, const ExpertsBlock& block) {
  const Inputs input = tensor_rows<T>(input_), expert_input = tensor_rows<T>(expert_input_),
               gated = tensor_rows<T>(expert_gated_);
  const Rows results = tensor_rows(expert_results_);
  member.share(std::ssize(rows_), [&](int64_t i) {
    for (int64_t k = 0; k < block.routing.chosen; ++k)
      std::copy_n(input[i], hidden_, expert_input[choice_indices_[i * block.routing.chosen + k]]);
  });
  const int64_t panels = block.gates[0].num_panels(), out_panels = block.downs[0].num_panels();
  const Operand gate_input = operand(member, block.gates[0], expert_input, std::ssize(choices_));
  member.share(std::ssize(expert_rows_) * panels, [&](int64_t task) {
    const auto [expert, first, count] = expert_rows_[task / panels];
    const GatePart part = {.gate = block.gates[expert],
                           .up = block.ups[expert],
                           .gate_bias = bias_of_expert(block.gate_biases, expert),
                           .up_bias = bias_of_expert(block.up_biases, expert),
                           .inner = block.inner,
                           .activation = block.activation};
    gate_panel(part, task % panels, task % panels, gate_input, gated, first, first + count);
  });
  const Operand down_input = operand(member, block.downs[0], gated, std::ssize(choices_));
  member.share(std::ssize(expert_rows_) * out_panels, [&](int64_t task) {
    const auto [expert, first, count] = expert_rows_[task / out_panels];
    const int64_t panel = task % out_panels;
    multiply_panel(block.downs[expert], panel, down_input, first, count,
                   {results[first] + panel * kPanelWidth, results.stride}, panel + 1);
  });
}

template <class T>
void CpuDecoder<T>::combine(Member& member, const ExpertsBlock& block) {
  const Rows branch = tensor_rows(branch_), results = tensor_rows(expert_results_),
             logits = tensor_rows(router_logits_);
  member.share(std::ssize(rows_), [&](int64_t i) {
    float* const sum = branch[i];
    const float shared_gate = block.gates_shared ? 1 / (1 + std::exp(-logits[i][block.routing.count])) : 1;
    for (int64_t e = 0; e < hidden_; ++e) sum[e] = block.shared ? shared_gate * sum[e] : 0;
    for (int64_t c = i * block.routing.chosen; c < (i + 1) * block.routing.chosen; ++c) {
      const float* const row = results[choice_indices_[c]];
      for (int64_t e = 0; e < hidden_; ++e) sum[e] += choice_weights_[c] * row[e];
      if (const float* const bias = bias_of_expert(block.down_biases, choices_[c]))
        for (int64_t e = 0; e < hidden_; ++e) sum[e] += choice_weights_[c] * bias[e];
    }
  });
}

#define ROLL_INSTANTIATE(T)                                                                                   \
  template int64_t CpuDecoder<T>::room_for(const Experts&, const LayerWeights&) const;                        \
  template void CpuDecoder<T>::add_block(const Experts&, const Block&, const LayerWeights&, StreamedMemory&); \
  template void CpuDecoder<T>::mix(Member&, const ExpertsBlock&);
ROLL_INSTANTIATE(float)
ROLL_INSTANTIATE(c10::BFloat16)
#undef ROLL_INSTANTIATE

}  // namespace roll
