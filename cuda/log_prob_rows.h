// Log-prob and entropy of each row of a chunk of logits, and the gradient of the logits; kernels: log_prob_text.h.
// Depends on no tensor library; takes device pointers (16-byte aligned) and a stream. SystemError: built without CUDA.
#pragma once

#include <cstdint>

#include "cuda/bf16.h"

namespace roll::cuda {

struct LogProbRows {
  const int64_t* labels = nullptr;  // [rows], each in [0, vocab)
  int64_t rows = 0, vocab = 0;
  float inverse_temperature = 1;
};

/// Computes log_probs, entropy and logsumexp ([rows] float32, nats) from logits [rows, vocab] float32.
void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream);

/// Writes the gradient of the loss by the logits, [rows, vocab]; a float32 gradient may overwrite the logits. The other
/// arguments are [rows] float32. Label -1: the label is outside these columns.
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, float* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, Bf16* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);

}  // namespace roll::cuda
