#include "experience/batch.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

const at::Tensor& Batch::mask(const std::string& name) const {
  const auto found = masks.find(name);
  ROLL_CHECK(found != masks.end(), fmt::format("the batch has a mask {}", name));
  return found->second;
}

at::Tensor token_indices(const Batch& batch, const std::vector<int64_t>& sequence_indices) {
  const auto& cu_seqlens = batch.tokens.cu_seqlens;
  std::vector<int64_t> tokens;
  for (const int64_t b : sequence_indices)
    for (int64_t t = cu_seqlens[b]; t < cu_seqlens[b + 1]; ++t) tokens.push_back(t);
  return at::tensor(tokens, at::kLong);
}

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
  part.sequence_index = picked(batch.sequence_index, sequence_indices);
  part.group_index = picked(batch.group_index, sequence_indices);
  for (const auto& [name, mask] : batch.masks) part.masks[name] = mask.index_select(0, tokens);
  return part;
}

Batch to_device(Batch batch, at::Device device) {
  if (device.is_meta()) return batch;
  batch.tokens.ids = batch.tokens.ids.to(device);
  batch.tokens.positions = batch.tokens.positions.to(device);
  for (auto& [name, mask] : batch.masks) mask = mask.to(device);
  return batch;
}

std::vector<int64_t> lengths_of(const Batch& batch) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch.num_sequences(); ++b) lengths.push_back(batch.tokens.length(b));
  return lengths;
}

}  // namespace roll
