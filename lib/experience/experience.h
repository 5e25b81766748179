// What a step learns from: this rank's sequences as one packed token axis with everything that training reads.
// Plain tensors on the CPU; the trainer selects mini- and micro-batches and moves those to its device.
// Legend: B sequences, T packed tokens. Every [T] tensor but the ids is in the program's alignment: index t is about
// token t + 1 of the same sequence, and each sequence's last index is masked out.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "loss/aggregate.h"
#include "model/packed.h"

namespace roll {

struct Experience {
  PackedTokens tokens;

  // [B] each
  std::vector<int64_t> sequence_index;    // number in the step's data order, over all ranks
  std::vector<int64_t> group_index;       // number of the prompt in the step, over all ranks
  std::vector<int64_t> prompt_lengths;    // tokens, >= 1
  std::vector<int64_t> response_lengths;  // tokens, >= 0
  std::vector<double> scores;             // as the reward function gave them
  std::vector<char> truncated;            // 1: finish reason "length"
  std::vector<double> difficulties;       // of the prompt's row
  std::vector<float> sample_weights;      // of a mini-batch (loss/sample_weights.h); empty: 1

  // [T] float32; undefined where the configuration does not need them
  at::Tensor response_mask;        // 1 where token t + 1 is a response token
  at::Tensor final_response_mask;  // the same without sequences that a sample mask takes out
  at::Tensor sampler_log_probs;    // nats, of the sampler; 0 outside responses
  at::Tensor old_log_probs;        // nats, of the trainer
  at::Tensor is_weights;           // on the policy loss; see correction.h
  at::Tensor ref_log_probs;        // nats
  at::Tensor values;               // the critic at t; the last index of a sequence holds the value after its last token
  at::Tensor token_rewards;
  at::Tensor advantages;
  at::Tensor returns;

  int64_t num_sequences() const { return tokens.num_sequences(); }
  /// All [T] tensors but the tokens' own.
  static const std::array<at::Tensor Experience::*, 10> kTokenTensors;

  TokenAxis axis() const { return {tokens.cu_seqlens, group_index}; }
};

/// One prompt and its response.
struct Sample {
  std::vector<int64_t> prompt_ids;    // at least one
  std::vector<int64_t> response_ids;  // may be empty
  int64_t sequence_index = 0;
  int64_t group_index = 0;
  double score = 0;
  bool truncated = false;
  double difficulty = 0;
  std::vector<float> log_probs{};  // the sampler's, one per response token; empty: unknown
};

/// Packs samples in the given order and sets the response mask; all other tensors stay undefined.
Experience make_experience(const std::vector<Sample>& samples);

/// response_mask [T] float32 of prompts and responses in their packed order.
at::Tensor make_response_mask(const std::vector<int64_t>& prompt_lengths, const std::vector<int64_t>& response_lengths);

/// These sequences, in this order (repeats allowed); defined tensors are sliced, undefined ones stay so.
/// An empty list gives an experience of no sequences. Bug: an index out of range.
Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices);

/// The response part of a [T] tensor of sequence b: [response_length].
at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence);

}  // namespace roll
