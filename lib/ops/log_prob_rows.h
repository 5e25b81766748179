// Log-probs, entropy and the gradient by the logits, for a chunk of rows of logits, on the CPU and on CUDA. Used by
// linear_log_prob.h.
// Legend: N rows of a chunk, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Results of forward, which backward reads; [N] each.
struct RowResults {
  at::Tensor log_probs, entropy, logsumexp;
};

/// Writes `results` for logits [N, V] float32 (CPU also float64) and labels [N] int64 in [0, V). On the CPU, entropy
/// stays unwritten if `with_entropy` is false.
void log_prob_rows(const at::Tensor& logits, const at::Tensor& labels, double temperature, bool with_entropy,
                   const RowResults& results);

/// Gradients of the loss by log_probs and by entropy, [N] each; entropy may be undefined.
struct RowGradients {
  at::Tensor log_probs, entropy;
};

/// Returns the gradient of the loss by the logits, in `dtype`. Overwrites the logits, except on CUDA for bfloat16,
/// which gets a new tensor. Label -1 means that the label is not among these columns.
at::Tensor log_prob_rows_gradient(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                                  const RowResults& results, const RowGradients& output_gradients,
                                  at::ScalarType dtype);

}  // namespace roll
