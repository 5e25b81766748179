// Log-prob and entropy of each row of a chunk of logits, and the gradient by the logits.
// Leaf: plain pointers to device memory, 16 bytes aligned, and a stream; no tensors. The kernels are log_prob_text.h.
// Without CUDA the functions throw SystemError.
#pragma once

#include <cstdint>

#include "cuda/bf16.h"

namespace roll::cuda {

struct LogProbRows {
  const int64_t* labels = nullptr;  // [rows], each in [0, vocab)
  int64_t rows = 0, vocab = 0;
  float inverse_temperature = 1;
};

/// logits [rows, vocab] float32 -> log_probs, entropy, logsumexp [rows] float32.
void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream);

/// gradient [rows, vocab] of the loss by the logits, which float32's may replace; the other arguments are [rows]
/// float32. A label may be -1: none of these columns.
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, float* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, Bf16* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);

}  // namespace roll::cuda
