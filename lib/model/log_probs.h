// Log-probs of the tokens that are there: the one definition that sampler, reference, old policy and training share.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/packed.h"
#include "model/transformer.h"
#include "ops/linear_log_prob.h"
#include "ops/recomputation.h"

namespace roll {

struct TokenLogProbs {
  at::Tensor log_probs;  // [T] float32, nats: log softmax(logits[t] / temperature) of token t + 1 of the same sequence
  at::Tensor entropy;    // [T] float32, nats, of that distribution; undefined when not asked for
  at::Tensor energy{};   // [T] float32, squared norm of the log-prob's gradient by logits / temperature; likewise
  std::shared_ptr<RouterTraining> routers{};  // the tokens' own
  at::Tensor of_choices{};                    // [T, k] float32: logits of token t + 1, of the choices
};

/// All are 0 at each sequence's last index. With autograd unless a NoGradGuard is held, as it must be for the energy;
/// full logits never exist.
/// `wanted` ([T], not 0, on the host; undefined: all) computes only these positions, the others are 0 and carry no
/// gradient: prompts cost nothing in the lm head. All ranks that share the model get all results, but of a pipeline's
/// stages only the last; on others all is undefined. **Collective** over cp, tp and stages.
/// `choices` [T, k] int64: ids whose logits are wanted as well, no two of a token alike; undefined: none.
TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, const Recomputation& recompute = {}, const at::Tensor& wanted = {},
                              bool with_energy = false, const at::Tensor& choices = {});

/// Of each wanted position the `k` largest of the first `vocabulary` logits of token t + 1, without gradient: [T, k]
/// each, 0 elsewhere. Ranks as token_log_probs(); undefined on stages but the last. **Collective**.
TopLogits token_top_logits(const Transformer& model, const PackedTokens& tokens, int64_t k, int64_t vocabulary,
                           const at::Tensor& wanted);

}  // namespace roll
