// The block of lanes over which kernels are written (sample_row_text.h), on the device: its threads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace roll::cuda {

/// All kLanes threads of the block must make the same calls. kLanes is a multiple of 32.
template <int kLanes>
class DeviceBlock {
 public:
  static __device__ int lane() { return static_cast<int>(threadIdx.x); }

  template <class F>
  __device__ void each(int64_t n, const F& f) const {
    for (int64_t i = lane(); i < n; i += kLanes) f(i);
    __syncthreads();
  }

  template <class F>
  __device__ void once(const F& f) const {
    if (lane() == 0) f();
    __syncthreads();
  }

  template <class F>
  __device__ auto sum(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    T mine = 0;
    for (int64_t i = lane(); i < n; i += kLanes) mine += f(i);
    return joined(mine, [](T a, T b) { return a + b; });
  }

  /// n > 0.
  template <class F>
  __device__ auto largest(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    T mine = f(0);
    for (int64_t i = lane(); i < n; i += kLanes) mine = larger(mine, f(i));
    return joined(mine, [](T a, T b) { return larger(a, b); });
  }

  /// The largest int64_t where n is 0.
  template <class F>
  __device__ int64_t smallest(int64_t n, const F& f) const {
    int64_t mine = INT64_MAX;
    for (int64_t i = lane(); i < n; i += kLanes) mine = min(mine, f(i));
    return joined(mine, [](int64_t a, int64_t b) { return min(a, b); });
  }

  /// A warp for each chunk.
  template <class F, class T>
  __device__ void sum_chunks(int64_t n, int64_t size, const F& f, T* out) const {
    for (int64_t chunk = lane() / kWarp; chunk * size < n; chunk += kWarps) {
      const int64_t end = min(n, (chunk + 1) * size);
      T mine = 0;
      for (int64_t i = chunk * size + lane() % kWarp; i < end; i += kWarp) mine += f(i);
      mine = joined_in_warp(mine, [](T a, T b) { return a + b; });
      if (lane() % kWarp == 0) out[chunk] = mine;
    }
    __syncthreads();
  }

  template <class F, class T>
  __device__ void largest_chunks(int64_t n, int64_t size, const F& f, T* out) const {
    for (int64_t chunk = lane() / kWarp; chunk * size < n; chunk += kWarps) {
      const int64_t end = min(n, (chunk + 1) * size);
      T mine = f(chunk * size);
      for (int64_t i = chunk * size + lane() % kWarp; i < end; i += kWarp) mine = larger(mine, f(i));
      mine = joined_in_warp(mine, [](T a, T b) { return larger(a, b); });
      if (lane() % kWarp == 0) out[chunk] = mine;
    }
    __syncthreads();
  }

  __device__ void add(uint64_t* address, uint64_t x) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(x));
  }

 private:
  static constexpr int kWarp = 32, kWarps = kLanes / kWarp;
  static_assert(kLanes % kWarp == 0);

  template <class T>
  static __device__ T larger(T a, T b) {
    return a > b ? a : b;
  }

  template <class T, class Join>
  static __device__ T joined_in_warp(T mine, const Join& join) {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) mine = join(mine, __shfl_xor_sync(~0u, mine, offset));
    return mine;
  }

  template <class T, class Join>
  static __device__ T joined(T mine, const Join& join) {
    __shared__ T of_warp[kWarps];
    mine = joined_in_warp(mine, join);
    if (lane() % kWarp == 0) of_warp[lane() / kWarp] = mine;
    __syncthreads();
    T all = of_warp[0];
    for (int warp = 1; warp < kWarps; ++warp) all = join(all, of_warp[warp]);
    __syncthreads();  // before the next call writes there
    return all;
  }
};

}  // namespace roll::cuda
