// Log-probs and entropy of a chunk of logits, and their gradient by the logits, on the CPU and on CUDA, for
// linear_log_prob.cpp.
// Legend: N rows (tokens) of the chunk, V vocabulary (this rank's columns).
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Results of forward, [N] each, in the logits' dtype. logsumexp is that of logits / temperature, for backward.
struct RowResults {
  at::Tensor log_probs, entropy, logsumexp;  // nats
};

/// Writes into the tensors of `results`, which the caller allocates, for logits [N, V] float32 (on the CPU also
/// float64) and labels [N] int64 in [0, V). On the CPU, the entropy is not written if `with_entropy` is false.
void log_prob_rows(const at::Tensor& logits, const at::Tensor& labels, double temperature, bool with_entropy,
                   const RowResults& results);

/// Gradients of the loss by log_probs and by entropy, [N] each; `entropy` is undefined if the loss does not use it.
struct RowGradients {
  at::Tensor log_probs, entropy;
};

/// Returns the gradient of the loss by the logits, [N, V] in `dtype`, given forward's arguments and results. It
/// overwrites `logits`, except on CUDA if `dtype` is bfloat16. Here a label may be -1: it is not among these columns
/// (but on another rank's).
at::Tensor log_prob_rows_gradient(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                                  const RowResults& results, const RowGradients& output_gradients,
                                  at::ScalarType dtype);

}  // namespace roll
