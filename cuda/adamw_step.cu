// Bound by memory: 28 bytes a parameter read and written. Each thread takes neighbours, so that its loads are of 16 and
// 8 bytes.
#include "cuda/adamw_step.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/check_launch.h"

namespace roll::cuda {

namespace {

constexpr int kThreads = 256, kNeighbours = 4;

struct alignas(8) FourHalves {
  uint16_t at[kNeighbours];
};

__device__ void run_neighbours(const AdamWStep& step, const AdamWArrays& a, int64_t begin) {
  float4 gradient = *reinterpret_cast<const float4*>(a.gradient + begin);
  float4 first = *reinterpret_cast<const float4*>(a.first + begin);
  float4 second = *reinterpret_cast<const float4*>(a.second + begin);
  FourHalves high = *reinterpret_cast<const FourHalves*>(a.high + begin);
  FourHalves low = *reinterpret_cast<const FourHalves*>(a.low + begin);
  float *const g = &gradient.x, *const m = &first.x, *const v = &second.x;
#pragma unroll
  for (int k = 0; k < kNeighbours; ++k) {
    float weight = joined_float({{high.at[k]}, static_cast<int16_t>(low.at[k])});
    adamw(step, g[k], weight, m[k], v[k]);
    const SplitFloat halves = split_float(weight);
    high.at[k] = halves.high.bits;
    low.at[k] = static_cast<uint16_t>(halves.low);
  }
  *reinterpret_cast<float4*>(a.first + begin) = first;
  *reinterpret_cast<float4*>(a.second + begin) = second;
  *reinterpret_cast<FourHalves*>(a.high + begin) = high;
  *reinterpret_cast<FourHalves*>(a.low + begin) = low;
}

__global__ void __launch_bounds__(kThreads) adamw_kernel(AdamWStep step, AdamWArrays arrays, bool is_aligned) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t vectors = is_aligned ? arrays.n / kNeighbours : 0;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = thread; i < vectors; i += stride) run_neighbours(step, arrays, i * kNeighbours);
  for (int64_t i = vectors * kNeighbours + thread; i < arrays.n; i += stride) arrays.run(step, i);
}

bool aligned(const void* address, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

}  // namespace

void adamw_step(const AdamWStep& step, const AdamWArrays& arrays, void* stream) {
  if (arrays.n == 0) return;
  const bool is_aligned = aligned(arrays.gradient, 16) && aligned(arrays.first, 16) && aligned(arrays.second, 16) &&
                          aligned(arrays.high, 8) && aligned(arrays.low, 8);
  const int64_t blocks = (arrays.n + kThreads * kNeighbours - 1) / (kThreads * kNeighbours);
  adamw_kernel<<<static_cast<unsigned>(std::min<int64_t>(blocks, 1 << 16)), kThreads, 0,
                 static_cast<cudaStream_t>(stream)>>>(step, arrays, is_aligned);
  check_launch("adamw_step");
}

}  // namespace roll::cuda
