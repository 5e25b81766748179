// Computes the log-probs of the tokens in packed sequences. `roll logprobs`, reference model, old policy and training
// all call it. Index t of all results belongs to the prediction of token t + 1 of the same sequence.
// Legend: T packed tokens.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/packed.h"
#include "model/transformer.h"
#include "ops/linear_log_prob.h"
#include "ops/recomputation.h"

namespace roll {

struct TokenLogProbs {
  at::Tensor log_probs;  // [T] float32, nats: log softmax(logits / temperature) at token t + 1
  at::Tensor entropy;    // [T] float32, nats, of softmax(logits / temperature); undefined if not requested
  at::Tensor energy{};   // [T] float32: squared norm of d log_prob / d (logits / temperature); or undefined
  std::shared_ptr<RouterTraining> routers{};  // PackedTokens::routers, which now has this forward's measurements
  // [T] float32, with PackedTokens::trains_mtp: the MTP head's log-prob of token t + 2, without temperature. It is 0
  // where further_mask() (mtp.h) is.
  at::Tensor mtp_log_probs{};
  int64_t num_mtp = 0;         // tokens in that mask
  at::Tensor choice_logits{};  // [T, k] float32: logits of `choices` at token t + 1, not divided; or undefined
};

/// Returns log-probs and the requested other results; all are 0 at each context's last token. Differentiable unless a
/// NoGradGuard is held; `with_energy` requires one. Full logits never exist. `wanted`: mask [T] on the host, undefined:
/// all 1; where it is 0, as in prompts, the lm head computes nothing, and results are 0 without gradient. `choices`:
/// [T, k] int64, at each index k distinct ids whose logits are returned, too (after the model's logit_cap, before the
/// temperature); undefined: none; not with `with_energy`. `recompute`: see Transformer::forward(). Ranks of cp, tp and
/// stages pass the same whole batch and get all results, except on pipeline stages before the last, where all results
/// are undefined. **Collective** over cp, tp, ep and stages.
TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, const Recomputation& recompute = {}, const at::Tensor& wanted = {},
                              bool with_energy = false, const at::Tensor& choices = {});

/// Returns [T, k] logits and ids: at each index where the mask `wanted` (as in token_log_probs()) is not 0, the k
/// largest logits among the ids below `vocabulary`, descending; 0 at other indices. No temperature, no gradient. Batch,
/// results on each rank and collectives are as in token_log_probs().
TopLogits token_top_logits(const Transformer& model, const PackedTokens& tokens, int64_t k, int64_t vocabulary,
                           const at::Tensor& wanted);

}  // namespace roll
