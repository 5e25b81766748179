#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "ops/linear_log_prob.h"

namespace roll {

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, bool recompute, const at::Tensor& wanted) {
  at::Tensor labels = next_token_labels(tokens);
  if (wanted.defined()) labels.masked_fill_(wanted.to(labels.device()).logical_not(), -1);
  LogProbOptions options;
  options.temperature = temperature, options.with_entropy = with_entropy;
  const LogProbs result = linear_log_prob(model.forward(tokens, recompute), model.head_weight(), labels, options);
  return {result.log_probs, result.entropy};
}

}  // namespace roll
