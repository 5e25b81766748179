// Log-prob and entropy of each row of a chunk of logits, and the gradient by the logits in their place.
// Leaf: plain pointers to device memory and a stream; no tensors. One block of threads per row.
// Without CUDA the functions throw SystemError.
#pragma once

#include <cstdint>

namespace roll::cuda {

struct LogProbRows {
  const int64_t* labels = nullptr;  // [rows], each in [0, vocab)
  int64_t rows = 0, vocab = 0;
  float inverse_temperature = 1;
};

/// logits [rows, vocab] float32 -> log_probs, entropy, logsumexp [rows] float32.
void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream);

/// Replaces the logits by the gradient of the loss; the other arguments are [rows] float32.
void log_prob_rows_backward(const LogProbRows& shape, float* logits, const float* logsumexp, const float* entropy,
                            const float* d_log_probs, const float* d_entropy, void* stream);

}  // namespace roll::cuda
