// Rows of a chunk of logits -> log-prob, entropy and the gradient by the logits; on the CPU and on CUDA.
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

/// Of the loss, by log_probs and by entropy, [N] each; entropy may be undefined.
struct RowGradients {
  at::Tensor log_probs, entropy;
};

/// The gradient of the loss by the logits, in `dtype`: written over them, or where CUDA rounds it at once, in memory of
/// its own. A label may be -1: it is none of these columns.
at::Tensor log_prob_rows_gradient(const at::Tensor& logits, const at::Tensor& labels, double temperature,
                                  const RowResults& results, const RowGradients& by, at::ScalarType dtype);

}  // namespace roll
