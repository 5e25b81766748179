// Log-probs of given tokens: the one definition that sampler, reference, old policy and training share.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/packed.h"
#include "model/transformer.h"
#include "ops/linear_log_prob.h"
#include "ops/recomputation.h"

namespace roll {

struct TokenLogProbs {
  at::Tensor log_probs;  // [T] float32, nats: log softmax(logits[t] / temperature) of token t + 1 of the same sequence
  at::Tensor entropy;    // [T] float32, nats, of that distribution; undefined if not requested
  at::Tensor energy{};   // [T] float32, squared norm of the log-prob's gradient by logits / temperature; or undefined
  std::shared_ptr<RouterTraining> routers{};  // copied from `tokens`
  at::Tensor choice_log_probs{};              // [T, k] float32: logits of `choices` for token t + 1
};

/// Returns log-probs and the requested other results; all are 0 at each sequence's last index. Autograd records unless
/// a NoGradGuard is held; the energy requires one. Full logits never exist. `wanted` ([T] on the host, not 0: wanted;
/// undefined: all) limits the lm head to these positions, so that prompts cost nothing there; the others are 0 and
/// carry no gradient. All ranks of the model get all results; of a pipeline's stages only the last does, on others all
/// is undefined. **Collective** over cp, tp and stages. `choices` [T, k] int64: ids whose logits are wanted as well,
/// distinct per token; undefined: none.
TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, const Recomputation& recompute = {}, const at::Tensor& wanted = {},
                              bool with_energy = false, const at::Tensor& choices = {});

/// Returns the `k` largest of the first `vocabulary` logits of token t + 1 at each wanted position, without gradient:
/// [T, k] each, 0 elsewhere. Ranks as in token_log_probs(); undefined on stages before the last. **Collective**.
TopLogits token_top_logits(const Transformer& model, const PackedTokens& tokens, int64_t k, int64_t vocabulary,
                           const at::Tensor& wanted);

}  // namespace roll
