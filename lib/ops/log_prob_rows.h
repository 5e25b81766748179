// Computes log-probs and entropy of a chunk of logits, and their gradient by the logits, on the CPU and on CUDA, for
// linear_log_prob.cpp.
// Legend: N rows (tokens) of the chunk, V columns: the vocabulary, or this tensor-parallel rank's ids.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Results of log_prob_rows(), [N] each, in the logits' dtype and in nats. logsumexp is that of logits / temperature.
struct RowResults {
  at::Tensor log_probs, entropy, logsumexp;
};

/// Writes the results of logits [N, V] into the tensors of `results`, which the caller allocates. Logits are float32
/// (on the CPU also float64), labels [N] int64 in [0, V). On the CPU, the entropy is not written if `with_entropy` is
/// false.
void log_prob_rows(const at::Tensor& logits, const at::Tensor& labels, double temperature, bool with_entropy,
                   const RowResults& results);

/// Gradients of the loss by RowResults::log_probs and entropy, [N] each; `entropy` is undefined if the loss does not
/// use it.
struct RowGradients {
  at::Tensor log_probs, entropy;
};

/// Returns the gradient of the loss by the logits, [N, V] in `dtype`, given the arguments and results of
/// log_prob_rows(). Overwrites `logits`, except on CUDA if `dtype` is bfloat16. Here a label may also be -1, if another
/// rank holds its column. results.log_probs is not read.
at::Tensor log_prob_rows_gradient(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                                  const RowResults& results, const RowGradients& output_gradients,
                                  at::ScalarType dtype);

}  // namespace roll
