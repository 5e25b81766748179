#include "experience/batch.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "device/transfers.h"
#include "ops/attention.h"

namespace roll {

at::Tensor Batch::taught_tokens() const {
  if (!taught.defined()) return {};
  const int64_t k = taught.size(1) / 2;
  return taught.narrow(1, k, k).to(at::kLong);
}

const at::Tensor& Batch::mask(const std::string& name) const {
  const auto found = masks.find(name);
  ROLL_CHECK(found != masks.end(), fmt::format("the batch has a mask {}", name));
  return found->second;
}

TokenAxis Batch::axis() const {
  TokenAxis axis{tokens.contexts(), on_contexts(group_index)};
  if (on_host)
    for (const auto& [name, device_mask] : masks) axis.host_masks.emplace_back(device_mask, on_host->mask(name));
  if (on_host) axis.bounds = tokens.bounds;
  for (const auto& [rule, numbers] : weights) axis.sent.push_back({mask(rule.mask), rule, numbers});
  axis.spread = factors;
  return axis;
}

at::Tensor token_indices(const Batch& batch, const std::vector<int64_t>& sequence_indices) {
  const auto& cu_seqlens = batch.tokens.cu_seqlens;
  std::vector<int64_t> tokens;
  for (const int64_t b : sequence_indices)
    for (int64_t t = cu_seqlens[b]; t < cu_seqlens[b + 1]; ++t) tokens.push_back(t);
  return at::tensor(tokens, at::kLong);
}

namespace {

void select_contexts(const PackedTokens& tokens, const std::vector<int64_t>& sequences, PackedTokens& part) {
  if (tokens.cu_contexts.empty()) return;
  part.cu_contexts = {0};
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t begin = tokens.cu_seqlens[sequences[i]], end = tokens.cu_seqlens[sequences[i] + 1];
    for (auto bound = std::ranges::upper_bound(tokens.cu_contexts, begin);
         bound != tokens.cu_contexts.end() && *bound <= end; ++bound)
      part.cu_contexts.push_back(part.cu_seqlens[i] + *bound - begin);
  }
}

}  // namespace

Batch select(const Batch& batch, const std::vector<int64_t>& sequence_indices) {
  for (const int64_t b : sequence_indices)
    ROLL_CHECK(b >= 0 && b < batch.num_sequences(), "only sequences of this batch can be selected");
  const at::Tensor tokens = token_indices(batch, sequence_indices);
  Batch part;
  part.tokens.ids = batch.tokens.ids.index_select(0, tokens);
  part.tokens.positions = batch.tokens.positions.index_select(0, tokens);
  part.tokens.cu_seqlens = {0};
  for (const int64_t b : sequence_indices)
    part.tokens.cu_seqlens.push_back(part.tokens.cu_seqlens.back() + batch.tokens.length(b));
  select_contexts(batch.tokens, sequence_indices, part.tokens);
  part.sequence_index = picked(batch.sequence_index, sequence_indices);
  part.group_index = picked(batch.group_index, sequence_indices);
  if (batch.tokens.routed_experts.defined())
    part.tokens.routed_experts = batch.tokens.routed_experts.index_select(0, tokens);
  for (const auto& [name, mask] : batch.masks) part.masks[name] = mask.index_select(0, tokens);
  if (batch.taught.defined()) part.taught = batch.taught.index_select(0, tokens);
  return part;
}

std::vector<at::Tensor*> batch_tensors(Batch& batch) {
  std::vector<at::Tensor*> tensors = {&batch.tokens.ids, &batch.tokens.positions};
  for (auto& [name, mask] : batch.masks) tensors.push_back(&mask);
  if (batch.taught.defined()) tensors.push_back(&batch.taught);
  for (auto& [rule, numbers] : batch.weights) tensors.push_back(&numbers);
  for (auto& [sequence_values, on_tokens] : batch.factors) tensors.push_back(&on_tokens);
  if (batch.tokens.dropout_keys.defined()) tensors.push_back(&batch.tokens.dropout_keys);
  if (batch.tokens.routed_experts.defined()) tensors.push_back(&batch.tokens.routed_experts);
  if (batch.tokens.bounds.defined()) tensors.push_back(&batch.tokens.bounds);
  for (LabelledSlots& labelled : batch.tokens.labelled)
    for (at::Tensor* tensor : {&labelled.slots, &labelled.unwanted})
      if (tensor->defined()) tensors.push_back(tensor);
  if (TokenLayout* layout = batch.tokens.layout.get())
    for (at::Tensor* tensor :
         {&layout->ids, &layout->positions, &layout->query_bounds, &layout->key_bounds, &layout->keys, &layout->tokens,
          &layout->result_rows, &layout->dropout_keys, &layout->routed_experts})
      if (tensor->defined()) tensors.push_back(tensor);
  return tensors;
}

void add_weights(Batch& micro_batch, const std::vector<WeightRule>& rules, const MiniBatchCounts& counts) {
  for (const WeightRule& rule : rules)
    micro_batch.weights.emplace_back(rule, token_weights(micro_batch.mask(rule.mask), micro_batch.axis(), rule.mode,
                                                         counts.at(rule.mask), rule.divisor));
}

void add_layout(Batch& batch, const ModelParallel& parallel) {
  PackedTokens& tokens = batch.tokens;
  tokens.bounds = sequence_bounds(tokens.contexts());
  TokenLayout layout = lay_out(tokens, parallel);
  for (const char* name : {"response_mask", "labels_mask"})
    if (const auto found = batch.masks.find(name); found != batch.masks.end())
      tokens.labelled.push_back(labelled_slots(layout, tokens, found->second, parallel));
  if (!layout.tokens.defined()) return;  // same layout as the tokens
  add_bounds(layout);
  tokens.layout = std::make_shared<TokenLayout>(std::move(layout));
}

Batch to_device(Batch batch, at::Device device, const ModelParallel& parallel) {
  if (device.is_meta() || device.is_cpu()) return batch;
  batch.on_host = std::make_shared<const Batch>(batch);
  add_layout(batch, parallel);
  move_to_device(batch_tensors(batch), device);
  return batch;
}

std::vector<int64_t> batch_lengths(const Batch& batch) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch.num_sequences(); ++b) lengths.push_back(batch.tokens.length(b));
  return lengths;
}

}  // namespace roll
