// Data that a step of reinforcement learning trains on: prompts and responses on one packed token axis, with log-probs,
// rewards and advantages.
// Legend: B sequences, C contexts, T packed tokens. Index t of every [T] tensor but the ids refers to token t + 1 of
// the same context; each context's last index is masked out.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "experience/batch.h"
#include "experience/response_facts.h"

namespace roll {

struct Experience : Batch {
  std::vector<ResponseFacts> responses;  // [B]
  std::vector<float> sample_weights;     // [B] of a mini-batch (loss/sample_weights.h); empty: 1

  // [T] float32; undefined if the configuration does not need it
  at::Tensor sampler_log_probs;  // nats, from the sampler; 0 outside responses
  at::Tensor old_log_probs;      // nats, from the trainer
  at::Tensor energies;           // squared norm of the gradient of old_log_probs with respect to the logits
  at::Tensor is_weights;         // importance weights of the policy loss; see correction.h
  at::Tensor ref_log_probs;      // nats
  at::Tensor teacher_kl;         // nats: estimates of KL(policy, teacher), weighted and summed over teachers
  at::Tensor values;             // critic's value at t; a sequence's last index holds the value after its last token
  at::Tensor token_rewards;
  at::Tensor advantages;
  at::Tensor returns;

  /// Returns the mask "response_mask": 1 if token t + 1 is a sampled token of a judged response.
  const at::Tensor& response_mask() const { return mask("response_mask"); }
  /// Returns the mask "final_response_mask": response_mask() without masked samples and filtered tokens.
  const at::Tensor& final_response_mask() const { return mask("final_response_mask"); }

  /// Returns the mask "positive_response_mask": final_response_mask() of responses with a score above 0.
  const at::Tensor& positive_response_mask() const { return mask("positive_response_mask"); }

  /// Returns [C]: for each context the score of its response.
  std::vector<double> scores_on_contexts() const;

  /// Returns the copy on the host: this one, or the one before to_device().
  const Experience& host() const { return on_host ? static_cast<const Experience&>(*on_host) : *this; }

  /// All [T] tensors except the tokens' and the masks.
  static const std::array<at::Tensor Experience::*, 10> kTokenTensors;
};

/// Returns the facts of a step whose responses are all on this rank.
StepFacts step_facts(const Experience& step);

/// Makes an experience of these sequences, packed in this order with `ids` [T] int64. Sets tokens, facts and the
/// response mask; other tensors stay undefined. Bug: the number of ids does not match.
Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids);

/// Like select() and to_device() of a Batch, for all tensors; undefined ones stay undefined.
Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices);
Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel);

/// Adds factors per sequence that losses spread over tokens, so that they go to the device with the batch: sample
/// weights, and the signs of scores if `needs_signs`.
void add_factors(Experience& micro_batch, bool needs_signs);

/// Returns the response's part of a [T] tensor for one sequence: [response_length].
at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence);

/// Indices [begin, end) of the token axis.
struct TokenSpan {
  int64_t begin = 0, end = 0;
};
/// Returns the spans of sampled tokens of a sequence: one per turn, or the whole response. Index t refers to token t +
/// 1.
std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence);
/// Returns model_spans() grouped by context.
std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence);
/// Returns the sum of a [T] tensor over each response: [B] float64.
at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor);

}  // namespace roll
