// Data that a step of reinforcement learning trains on: prompts and responses on one packed token axis, with log-probs,
// rewards and advantages. A context is a sequence, or a part of a trajectory whose turns have separate prompts.
// Legend: B sequences, C contexts, T packed tokens. Index t of every [T] tensor but the ids refers to token t + 1 of
// the same context; the last index of each context is masked out.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "experience/batch.h"
#include "experience/response_facts.h"

namespace roll {

/// Sequences on this rank, each a prompt with a response: its share of a step or of a mini-batch, or a micro-batch.
struct Experience : Batch {
  std::vector<ResponseFacts> responses;  // [B]
  std::vector<float> sample_weights;     // [B] weights in the policy loss (loss/sample_weights.h); empty: 1

  // [T] float32 each; undefined until computed, or if the configuration does not need them.
  at::Tensor sampler_log_probs;  // nats, from the sampler; 0 outside responses
  at::Tensor old_log_probs;      // nats, from the trainer before the step's first update
  at::Tensor energies;           // squared norm of the gradient of old_log_probs with respect to the logits
  at::Tensor is_weights;         // importance weights of the policy loss; see correction.h
  at::Tensor ref_log_probs;      // nats, from the reference model
  at::Tensor teacher_kl;         // nats: estimates of KL(policy, teacher), weighted and summed over teachers
  at::Tensor values;             // critic's value before token t + 1; last index of a sequence: after its last token
  at::Tensor token_rewards;      // the response's reward at its last token, minus the KL penalty of each token
  at::Tensor advantages;         // 0 outside final_response_mask()
  at::Tensor returns;            // targets of the critic's values

  /// Returns the mask "response_mask": 1 if token t + 1 is a sampled token of a judged response.
  const at::Tensor& response_mask() const { return mask("response_mask"); }
  /// Returns the mask "final_response_mask": response_mask() without the responses that sample_mask() (rewards.h) and
  /// the tokens that train_infer_correction leave out of the policy loss.
  const at::Tensor& final_response_mask() const { return mask("final_response_mask"); }

  /// Returns the mask "positive_response_mask": final_response_mask() of responses with a score above 0.
  const at::Tensor& positive_response_mask() const { return mask("positive_response_mask"); }

  /// Returns [C]: for each context the score of its response.
  std::vector<double> scores_on_contexts() const;

  /// Returns the experience on the host: this object, or its copy from before to_device().
  const Experience& host() const { return on_host ? static_cast<const Experience&>(*on_host) : *this; }

  /// All [T] tensors declared above; not those of Batch.
  static const std::array<at::Tensor Experience::*, 10> kTokenTensors;
};

/// Returns the facts of a step whose sequences are all on this rank, in `step`.
StepFacts step_facts(const Experience& step);

/// Makes an experience of these sequences (indices in the step), packed in this order. ids [T] int64: for each sequence
/// in turn, its prompt tokens, then its response tokens. Sets tokens, indices, `responses` and the mask response_mask;
/// other tensors stay undefined. Throws Bug if the number of ids does not match the sequences' lengths.
Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids);

/// Do the same as select() and to_device() of a Batch (batch.h), for all tensors; undefined tensors stay undefined.
Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices);
Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel);

/// Adds to micro_batch.factors the values per context that losses read per token. Call it before to_device(), so that
/// they go to the device with the batch. They are the sample weights, if any, and, if needs_signs, 1 for scores above 0
/// and 0 for others.
void add_factors(Experience& micro_batch, bool needs_signs);

/// Returns a view of a [T] tensor at the response tokens of a sequence: [response_length]. `sequence`: index in the
/// experience, here and below.
at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence);

/// Indices [begin, end) of the token axis.
struct TokenSpan {
  int64_t begin = 0, end = 0;
};
/// Returns the indices of the sampled tokens of a sequence on the axis of [T] tensors, where index t refers to token t
/// + 1: a span per turn, or one for the whole response.
std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence);
/// Returns model_spans() grouped by context: a list of spans for each context of the sequence.
std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence);
/// Returns the sum of a [T] tensor over the response tokens of each sequence: [B] float64.
at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor);

}  // namespace roll
