#include "cuda/log_prob_rows.h"

#include "cuda/device_lanes.cuh"
#include "cuda/log_prob_text.h"

namespace roll::cuda {

void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream) {
  start_kernel(LogProbForward{shape, logits, log_probs, entropy, logsumexp}, stream, "log_prob_rows_forward");
}

void log_prob_rows_backward(const LogProbRows& shape, const float* logits, float* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream) {
  start_kernel(LogProbBackward<float>{shape, logits, gradient, logsumexp, entropy, d_log_probs, d_entropy}, stream,
               "log_prob_rows_backward");
}

void log_prob_rows_backward(const LogProbRows& shape, const float* logits, Bf16* gradient, const float* logsumexp,
                            const float* entropy, const float* d_log_probs, const float* d_entropy, void* stream) {
  start_kernel(LogProbBackward<Bf16>{shape, logits, gradient, logsumexp, entropy, d_log_probs, d_entropy}, stream,
               "log_prob_rows_backward");
}

}  // namespace roll::cuda
