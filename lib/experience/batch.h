// The sequences of any training: packed tokens, the numbers of their sequences and groups, and masks. Supervised
// fine-tuning learns from a Batch as it is; an Experience adds what reinforcement learning needs.
// Plain tensors on the CPU; the trainer selects mini- and micro-batches and moves those to its device.
// Legend: B sequences, T packed tokens.
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

/// The mask of what fine-tuning learns.
inline constexpr const char* kLabelsMask = "labels_mask";

struct Batch {
  PackedTokens tokens;
  std::vector<int64_t> sequence_index;      // [B] number in the step's data order, over all ranks
  std::vector<int64_t> group_index;         // [B] number of the prompt in the step, over all ranks
  std::map<std::string, at::Tensor> masks;  // [T] float32 by the names of loss_mask_keys: 1 where token t + 1 counts
  // [T, 2k] float32: a teacher's log-probs of its k likeliest tokens t + 1, among these, and their ids; undefined: none
  at::Tensor taught{};
  std::vector<std::pair<WeightRule, at::Tensor>> weights{};          // [T] of a micro-batch, as add_weights() made them
  std::vector<std::pair<std::vector<float>, at::Tensor>> factors{};  // [C] and [T], as add_factors() made them

  /// What to_device() was given, where this is not on the host: what is known there need not be fetched.
  std::shared_ptr<const Batch> on_host{};

  int64_t num_sequences() const { return tokens.num_sequences(); }
  /// What losses see: to them each context is a sequence, as ROLL's steps are.
  TokenAxis axis() const;
  /// [C] from [B]: of each context what its sequence has.
  template <class T>
  std::vector<T> on_contexts(const std::vector<T>& of_sequences) const;
  /// [T, k] int64 of `taught`: the tokens; undefined: none.
  at::Tensor taught_tokens() const;
  /// Bug: the batch has no such mask.
  const at::Tensor& mask(const std::string& name) const;
  /// The mask on the host.
  const at::Tensor& host_mask(const std::string& name) const { return (on_host ? *on_host : *this).mask(name); }
};

/// These sequences, in this order (repeats allowed). An empty list gives a batch of no sequences. Bug: an index out of
/// range.
Batch select(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// The weights of a loss, to go to a device with the rest. `counts`: of the whole mini-batch.
void add_weights(Batch& micro_batch, const std::vector<WeightRule>& rules, const MiniBatchCounts& counts);

/// The batch with its tokens and masks on `device`, sent in one copy, laid out for ranks that share a model; as it is
/// for a model without data (ops/planned_tensors.h).
Batch to_device(Batch batch, at::Device device, const ModelParallel& parallel);

/// What a model and its losses are told on a device, of a batch that goes there.
void add_layout(Batch& batch, const ModelParallel& parallel);

/// The tensors of a batch: tokens, masks and what was added.
std::vector<at::Tensor*> tensors_of(Batch& batch);

/// Number of tokens of each sequence.
std::vector<int64_t> lengths_of(const Batch& batch);

/// [sum of their lengths] int64: the sequences' indices on the token axis, one sequence after the other.
at::Tensor token_indices(const Batch& batch, const std::vector<int64_t>& sequence_indices);

/// These elements, in this order.
template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<int64_t>& indices) {
  std::vector<T> result;
  result.reserve(indices.size());
  for (const int64_t i : indices) result.push_back(values[i]);
  return result;
}

template <class T>
std::vector<T> Batch::on_contexts(const std::vector<T>& of_sequences) const {
  if (tokens.cu_contexts.empty() || of_sequences.empty()) return of_sequences;
  std::vector<T> all;
  size_t sequence = 0;
  for (int64_t c = 0; c < tokens.num_contexts(); ++c) {
    if (tokens.contexts()[c] == tokens.cu_seqlens[sequence + 1]) ++sequence;
    all.push_back(of_sequences[sequence]);
  }
  return all;
}

}  // namespace roll
