#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "ops/linear_log_prob.h"

namespace roll {

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, bool recompute, const at::Tensor& wanted) {
  // A GPU needs many rows per product to be busy, and has the memory for them.
  static constexpr int64_t kChunkBytesOnGpu = int64_t{512} << 20;
  at::Tensor labels = next_token_labels(tokens);
  if (wanted.defined()) labels.masked_fill_(wanted.to(labels.device()).logical_not(), -1);
  LogProbOptions options;
  options.temperature = temperature, options.with_entropy = with_entropy;
  if (model.device().is_cuda()) options.chunk_bytes = kChunkBytesOnGpu;
  const LogProbs result = linear_log_prob(model.forward(tokens, recompute), model.head_weight(), labels, options);
  return {result.log_probs, result.entropy};
}

}  // namespace roll
