// Rows of a chunk of logits -> log-prob, entropy and the gradient in the logits' place; on the CPU and on CUDA.
// Legend: N rows of a chunk, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// What forward writes and backward reads, [N] each.
struct RowResults {
  at::Tensor log_probs, entropy, logsumexp;
};

/// logits [N, V] float32 (CPU also float64), labels [N] int64 in [0, V). `with_entropy` false leaves the entropy
/// unwritten on the CPU.
void log_prob_rows(const at::Tensor& logits, const at::Tensor& labels, double temperature, bool with_entropy,
                   const RowResults& results);

/// Replaces the logits by the gradient of the loss, given its gradients by log_probs and entropy ([N]; d_entropy may be
/// undefined). A label may be -1: it is none of these columns.
void log_prob_rows_backward(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                            const RowResults& results, const at::Tensor& d_log_probs, const at::Tensor& d_entropy);

}  // namespace roll
