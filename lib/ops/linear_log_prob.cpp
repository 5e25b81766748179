#include "ops/linear_log_prob.h"

#include <ATen/ATen.h>

namespace roll {

LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options) {
  at::Tensor logits = at::matmul(hidden, weight.t());
  if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);
  const at::Tensor all = at::log_softmax(logits / options.temperature, -1);
  const at::Tensor valid = labels.ge(0);
  LogProbs result;
  result.log_probs = all.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1) * valid;
  if (options.with_entropy) result.entropy = -(all.exp() * all).sum(-1) * valid;
  return result;
}

}  // namespace roll
