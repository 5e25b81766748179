// Training sequences: packed tokens, sequence and group indices, and masks. Supervised fine-tuning trains on a Batch;
// an Experience adds fields for reinforcement learning. Plain CPU tensors; the trainer selects mini- and micro-batches
// and moves these to its device.
// Legend: B sequences, C contexts, T packed tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "model/packed.h"
#include "model/token_layout.h"

namespace roll {

/// Mask of the tokens that fine-tuning trains on.
inline constexpr const char* kLabelsMask = "labels_mask";

struct Batch {
  PackedTokens tokens;
  std::vector<int64_t> sequence_index;      // [B] index in the step's data order, over all ranks
  std::vector<int64_t> group_index;         // [B] index of the prompt in the step, over all ranks
  std::map<std::string, at::Tensor> masks;  // [T] float32, keyed by loss_mask_keys: 1 if token t + 1 counts
  // [T, 2k] float32: a teacher's log-probs of its top-k tokens t + 1, normalised over these, then their ids; undefined
  // if none
  at::Tensor taught{};
  std::vector<std::pair<WeightRule, at::Tensor>> weights{};          // set by add_weights(): [T] of a micro-batch
  std::vector<std::pair<std::vector<float>, at::Tensor>> factors{};  // set by add_factors(): [C] and [T]

  /// Copy from before to_device(), unset on the host; saves copies from the device.
  std::shared_ptr<const Batch> on_host{};

  int64_t num_sequences() const { return tokens.num_sequences(); }
  /// Returns the token axis for losses, which treat each context as a sequence, like ROLL's steps.
  TokenAxis axis() const;
  /// Returns [C]: for each context the value of its sequence. sequence_values: [B].
  template <class T>
  std::vector<T> on_contexts(const std::vector<T>& sequence_values) const;
  /// Returns the token ids in `taught`, [T, k] int64; undefined if there are none.
  at::Tensor taught_tokens() const;
  /// Returns a mask. Bug: the batch has no such mask.
  const at::Tensor& mask(const std::string& name) const;
  /// Returns a mask on the host.
  const at::Tensor& host_mask(const std::string& name) const { return (on_host ? *on_host : *this).mask(name); }
};

/// Returns these sequences in this order; repeats are allowed, and an empty list gives an empty batch. Bug: an index is
/// out of range.
Batch select(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// Computes a loss's token weights, so that they go to the device with the batch. `counts`: of the whole mini-batch.
void add_weights(Batch& micro_batch, const std::vector<WeightRule>& rules, const MiniBatchCounts& counts);

/// Returns the batch on `device`, sent in one copy and laid out for model-parallel ranks. Returns it unchanged for a
/// CPU or for a model without data (ops/planned_tensors.h).
Batch to_device(Batch batch, at::Device device, const ModelParallel& parallel);

/// Adds the indices that a model and its losses need on a device.
void add_layout(Batch& batch, const ModelParallel& parallel);

/// Returns the batch's tensors: tokens, masks and added ones.
std::vector<at::Tensor*> batch_tensors(Batch& batch);

/// Returns each sequence's number of tokens.
std::vector<int64_t> batch_lengths(const Batch& batch);

/// Returns the sequences' token indices, one sequence after the other: [sum of lengths] int64.
at::Tensor token_indices(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// Returns values[i] for each i of `indices`.
template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<int64_t>& indices) {
  std::vector<T> result;
  result.reserve(indices.size());
  for (const int64_t i : indices) result.push_back(values[i]);
  return result;
}

template <class T>
std::vector<T> Batch::on_contexts(const std::vector<T>& sequence_values) const {
  if (tokens.cu_contexts.empty() || sequence_values.empty()) return sequence_values;
  std::vector<T> all;
  size_t sequence = 0;
  for (int64_t c = 0; c < tokens.num_contexts(); ++c) {
    if (tokens.contexts()[c] == tokens.cu_seqlens[sequence + 1]) ++sequence;
    all.push_back(sequence_values[sequence]);
  }
  return all;
}

}  // namespace roll
