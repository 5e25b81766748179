// A block of threads walks along its row once, each thread with running statistics, which warps merge by shuffles.
#include <cuda_runtime.h>

#include "cuda/check_launch.h"
#include "cuda/log_prob_math.h"
#include "cuda/log_prob_rows.h"

namespace roll::cuda {

namespace {

constexpr int kThreads = 512;
constexpr int kWarp = 32;

__device__ SoftmaxStats merged_in_warp(SoftmaxStats s) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const SoftmaxStats other = {__shfl_xor_sync(~0u, s.top, offset), __shfl_xor_sync(~0u, s.sum, offset),
                                __shfl_xor_sync(~0u, s.weighted, offset)};
    s = merged(s, other);
  }
  return s;
}

/// Valid in the first warp.
__device__ SoftmaxStats merged_in_block(const SoftmaxStats& mine) {
  __shared__ SoftmaxStats of_warp[kThreads / kWarp];
  const SoftmaxStats warp = merged_in_warp(mine);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = warp;
  __syncthreads();
  return merged_in_warp(threadIdx.x < kThreads / kWarp ? of_warp[threadIdx.x] : SoftmaxStats{});
}

__global__ void forward_kernel(LogProbRows shape, const float* logits, float* log_probs, float* entropy,
                               float* logsumexp) {
  const int64_t row = blockIdx.x;
  const float* x = logits + row * shape.vocab;
  SoftmaxStats mine;
  for (int64_t j = threadIdx.x; j < shape.vocab; j += kThreads)
    mine = with_value(mine, x[j] * shape.inverse_temperature);
  const SoftmaxStats all = merged_in_block(mine);
  if (threadIdx.x != 0) return;
  logsumexp[row] = logsumexp_of(all);
  entropy[row] = entropy_of(all);
  log_probs[row] = x[shape.labels[row]] * shape.inverse_temperature - logsumexp[row];
}

__global__ void backward_kernel(LogProbRows shape, float* logits, const float* logsumexp, const float* entropy,
                                const float* d_log_probs, const float* d_entropy) {
  const int64_t row = blockIdx.x;
  float* x = logits + row * shape.vocab;
  const RowGradient of_row = {logsumexp[row], entropy[row], d_log_probs[row], d_entropy[row],
                              shape.inverse_temperature};
  for (int64_t j = threadIdx.x; j < shape.vocab; j += kThreads)
    x[j] = logit_gradient(of_row, x[j], j == shape.labels[row]);
}

}  // namespace

void log_prob_rows_forward(const LogProbRows& shape, const float* logits, float* log_probs, float* entropy,
                           float* logsumexp, void* stream) {
  if (shape.rows == 0) return;
  forward_kernel<<<static_cast<unsigned>(shape.rows), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      shape, logits, log_probs, entropy, logsumexp);
  check_launch("log_prob_rows_forward");
}

void log_prob_rows_backward(const LogProbRows& shape, float* logits, const float* logsumexp, const float* entropy,
                            const float* d_log_probs, const float* d_entropy, void* stream) {
  if (shape.rows == 0) return;
  backward_kernel<<<static_cast<unsigned>(shape.rows), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      shape, logits, logsumexp, entropy, d_log_probs, d_entropy);
  check_launch("log_prob_rows_backward");
}

}  // namespace roll::cuda
