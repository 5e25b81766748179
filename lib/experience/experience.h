// What a step of reinforcement learning learns from: prompts and responses on one packed token axis, with what was
// computed of them.
// Legend: B sequences, T packed tokens. Every [T] tensor but the ids is in the program's alignment: index t is about
// token t + 1 of the same context, and each context's last index is masked out.
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

  // [T] float32; undefined where the configuration does not need them
  at::Tensor sampler_log_probs;  // nats, of the sampler; 0 outside responses
  at::Tensor old_log_probs;      // nats, of the trainer
  at::Tensor energies;           // squared norms of the gradient of old_log_probs by the logits
  at::Tensor is_weights;         // on the policy loss; see correction.h
  at::Tensor ref_log_probs;      // nats
  at::Tensor teacher_kl;         // nats: estimates of KL(policy, teacher), weighted and summed over teachers
  at::Tensor values;             // the critic at t; the last index of a sequence holds the value after its last token
  at::Tensor token_rewards;
  at::Tensor advantages;
  at::Tensor returns;

  /// The mask "response_mask": 1 where token t + 1 is a response token of a judged response, drawn by the model.
  const at::Tensor& response_mask() const { return mask("response_mask"); }
  /// The mask "final_response_mask": response_mask() without what a sample mask or a filter takes out.
  const at::Tensor& final_response_mask() const { return mask("final_response_mask"); }

  /// The mask "positive_response_mask": final_response_mask() of responses with a score above 0.
  const at::Tensor& positive_response_mask() const { return mask("positive_response_mask"); }

  /// [C] of each context its response's score.
  std::vector<double> scores_on_contexts() const;

  /// This, where it is on the host; else what it was there.
  const Experience& host() const { return on_host ? static_cast<const Experience&>(*on_host) : *this; }

  /// All [T] tensors but the tokens' own and the masks.
  static const std::array<at::Tensor Experience::*, 10> kTokenTensors;
};

/// The facts of a step of which this rank has every response.
StepFacts facts_of(const Experience& step);

/// The experience of these sequences of a step, packed in this order with `ids` [T] int64: tokens, facts and response
/// mask; all other tensors stay undefined.
Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids);

/// As select() and to_device() of a Batch, with all tensors; undefined ones stay so.
Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices);
Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel);

/// What a loss spreads over the tokens of each sequence, to go to a device with the rest: sample weights, and the signs
/// of scores where it `needs_signs`.
void add_factors(Experience& micro_batch, bool needs_signs);

/// The response part of a [T] tensor of sequence b: [response_length].
at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence);

/// Tokens [begin, end) of the token axis.
struct TokenSpan {
  int64_t begin = 0, end = 0;
};
/// What the model drew of sequence b, in the program's alignment: a span for each turn, or the whole response.
std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence);
/// Those of sequence b, context after context.
std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence);
/// The sum of a [T] tensor over each response: [B] float64.
at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor);

}  // namespace roll
