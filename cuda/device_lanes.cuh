// The primitives of a block of lanes (lane_block.h) on the device: its threads. And how a kernel starts.
#pragma once

#include <cuda_runtime.h>

#include "cuda/check_launch.h"
#include "cuda/lane_block.h"

namespace roll::cuda {

template <int kNumLanes>
struct DeviceLanes {
  static constexpr int kLanes = kNumLanes;
  template <class T>
  using Cell = T;

  static __device__ int lane() { return static_cast<int>(threadIdx.x); }
  static __device__ void barrier() { __syncthreads(); }
  static __device__ void warp_barrier() { __syncwarp(); }
  static __device__ uint32_t ballot(bool is) { return __ballot_sync(~0u, is); }

  template <class T>
  static __device__ T shuffle_xor(T x, int offset) {
    static_assert(sizeof(T) % 4 == 0);
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &x, sizeof x);
    for (uint32_t& word : words) word = __shfl_xor_sync(~0u, word, offset);
    memcpy(&x, words, sizeof x);
    return x;
  }

  template <int N, class T>
  static __device__ Vector<T, N> load(const T* from) {
    return *reinterpret_cast<const Vector<T, N>*>(from);
  }
  template <int N, class T>
  static __device__ void store(T* to, const Vector<T, N>& vector) {
    *reinterpret_cast<Vector<T, N>*>(to) = vector;
  }

  static __device__ uint32_t add(uint32_t* cell, uint32_t x) { return atomicAdd(cell, x); }
  static __device__ uint64_t add(uint64_t* cell, uint64_t x) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(cell), static_cast<unsigned long long>(x));
  }

  template <class T>
  static __device__ T* scratch() {
    __shared__ T of_warp[kLanes / kWarp];
    return of_warp;
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kLanes) run_kernel(Kernel kernel) {
  using Block = LaneBlock<DeviceLanes<Kernel::kLanes>>;
  __shared__ typename Kernel::template Shared<Block> shared;
  kernel.run(Block(), shared, blockIdx.x);
}

/// `what`: the sentence's beginning where it cannot start.
template <class Kernel>
void start_kernel(const Kernel& kernel, void* stream, const char* what) {
  if (kernel.num_blocks() == 0) return;
  run_kernel<<<static_cast<unsigned>(kernel.num_blocks()), Kernel::kLanes, 0, static_cast<cudaStream_t>(stream)>>>(
      kernel);
  check_launch(what);
}

}  // namespace roll::cuda
