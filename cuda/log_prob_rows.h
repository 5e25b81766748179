// Log-probs and entropies of rows of logits on a GPU, and their gradient by the logits, for lib/ops/log_prob_rows.h.
// Depends on no tensor library; takes device pointers (16-byte aligned). The functions launch one kernel
// (log_prob_text.h) on `stream`, a cudaStream_t, and do not wait. They throw std::runtime_error if the launch fails,
// and SystemError in a program built without CUDA.
#pragma once

#include <cstdint>

#include "cuda/bf16.h"

namespace roll::cuda {

/// Arguments that forward and backward share. Each row is a softmax over `vocab` columns: the vocabulary, or the slice
/// that one tensor-parallel rank holds.
struct LogProbRows {
  const int64_t* labels = nullptr;  // [rows]: column of the token whose log-prob is computed; backward also takes -1
  int64_t rows = 0, vocab = 0;
  float inverse_temperature = 1;  // probabilities are softmax(logits * inverse_temperature)
};

/// Computes log_probs (of the labels), entropy and logsumexp (of logits * inverse_temperature), each [rows] float32 in
/// nats, from logits [rows, vocab] float32, over these columns alone. Labels must be in [0, vocab).
void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream);

/// Writes the gradient of the loss by the logits, [rows, vocab]; a float32 gradient may overwrite the logits.
/// d_log_probs and d_entropy, [rows] float32, are the loss's gradients by log_probs and entropy. logsumexp and entropy,
/// [rows], are those of the whole vocabulary: of forward, or merged over the slices. Label -1: the token is in another
/// slice.
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, float* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);
void log_prob_rows_backward(const LogProbRows& shape, const float* logits, Bf16* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream);

}  // namespace roll::cuda
