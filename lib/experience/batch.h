// Training sequences: packed tokens, sequence and group indices, and masks. An Experience (experience.h) adds fields
// for reinforcement learning. A Batch is made on the CPU; the trainer selects mini-batches and micro-batches, and moves
// micro-batches to its device. A context is a sequence, or a part of a trajectory whose turns have separate prompts:
// tokens see only earlier tokens of their context. Legend: B sequences, C contexts, T packed tokens.
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

/// Name of the mask of tokens that fine-tuning trains on.
inline constexpr const char* kLabelsMask = "labels_mask";

/// Sequences on this rank: its share of a step or of a mini-batch, or a micro-batch.
struct Batch {
  PackedTokens tokens;                  // ids, positions and boundaries
  std::vector<int64_t> sequence_index;  // [B] index in the step's data order, over all ranks
  std::vector<int64_t> group_index;     // [B] index of the prompt in the step, over all ranks
  std::map<std::string, at::Tensor>
      masks;  // name (as in loss_mask_keys) -> [T] float32: 1 if token t + 1 counts, else 0
  /// [T, 2k] float32: for token t + 1, a teacher's log-probs of its k likeliest tokens, normalised over these k, then
  /// their ids; undefined without a teacher.
  at::Tensor taught{};
  std::vector<std::pair<WeightRule, at::Tensor>> weights{};  // set by add_weights(): rule, token weights [T]
  std::vector<std::pair<std::vector<float>, at::Tensor>>
      factors{};  // set by add_factors(): per context [C], per token [T]

  /// Set by to_device(): the batch as it was before, on the host, so that host code need not copy from the device.
  /// Null: the batch itself is on the host.
  std::shared_ptr<const Batch> on_host{};

  int64_t num_sequences() const { return tokens.num_sequences(); }
  /// Returns the sequence boundaries for losses, which treat each context as a sequence, like ROLL's steps. The result
  /// contains `weights` and `factors`.
  TokenAxis axis() const;
  /// Returns [C]: for each context the value of its sequence. sequence_values: [B] of any type; an empty list stays
  /// empty.
  template <class T>
  std::vector<T> on_contexts(const std::vector<T>& sequence_values) const;
  /// Returns the token ids in `taught`, [T, k] int64; undefined if `taught` is.
  at::Tensor taught_tokens() const;
  /// Returns masks[name]. Throws Bug if the batch has no such mask.
  const at::Tensor& mask(const std::string& name) const;
  /// Returns a mask on the host.
  const at::Tensor& host_mask(const std::string& name) const { return (on_host ? *on_host : *this).mask(name); }
};

/// Returns the sequences with these indices, in this order; repeats are allowed, and an empty list gives an empty
/// batch. `weights` and `factors` are left out. Throws Bug if an index is out of range.
Batch select(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// Adds to micro_batch.weights the token weights by these rules of the loss (token_weights() in loss/aggregate.h). Call
/// it before to_device(), so that they go to the device with the batch. counts: token counts of the whole mini-batch,
/// over all ranks. Throws UserError if `counts` lacks the mask of a rule.
void add_weights(Batch& micro_batch, const std::vector<WeightRule>& rules, const MiniBatchCounts& counts);

/// Returns the batch on `device`, sent in one copy, with on_host and add_layout() applied. Returns it unchanged if
/// `device` is the CPU, or the meta device (batches without data, ops/planned_tensors.h).
Batch to_device(Batch batch, at::Device device, const ModelParallel& parallel);

/// Adds to batch.tokens the indices that a model and its losses need on a device, for this rank of `parallel`; called
/// by to_device().
void add_layout(Batch& batch, const ModelParallel& parallel);

/// Returns pointers to all defined tensors of the batch, to be sent together. Valid while the batch is unchanged.
std::vector<at::Tensor*> batch_tensors(Batch& batch);

/// Returns each sequence's number of tokens, [B].
std::vector<int64_t> batch_lengths(const Batch& batch);

/// Returns the token-axis indices of the tokens of these sequences, one sequence after the other: [sum of lengths]
/// int64, on the host.
at::Tensor token_indices(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// Returns values[i] for each i of `indices`, in their order.
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
