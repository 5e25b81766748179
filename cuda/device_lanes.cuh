// CUDA implementation of the block primitives that lane_block.h specifies, and start_kernel(), which launches a kernel
// struct. For CUDA sources (.cu) only. A lane is a thread.
#pragma once

#include <cuda_runtime.h>

#include "cuda/check_launch.h"
#include "cuda/lane_block.h"

namespace roll::cuda {

/// The primitives of lane_block.h in a thread block of kNumLanes threads.
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
    return by_words(x, [&](uint32_t word) { return __shfl_xor_sync(~0u, word, offset); });
  }
  template <class T>
  static __device__ T shuffle_up(T x, int offset) {
    return by_words(x, [&](uint32_t word) { return __shfl_up_sync(~0u, word, offset); });
  }
  template <class T>
  static __device__ T shuffle(T x, int from) {
    return by_words(x, [&](uint32_t word) { return __shfl_sync(~0u, word, from); });
  }

  template <int N, class T>
  static __device__ Vector<T, N> load(const T* from) {
    return *reinterpret_cast<const Vector<T, N>*>(from);
  }
  template <int N, class T>
  static __device__ void store(T* to, const Vector<T, N>& vector) {
    *reinterpret_cast<Vector<T, N>*>(to) = vector;
  }

  template <int N, class T>
  static __device__ Vector<T, N> load_some(const T* from, int count) {
    Vector<T, N> vector = load<N>(from);
    for (int i = 0; i < N; ++i)
      if (i >= count) vector.at[i] = T{};
    return vector;
  }

  template <class T>
  static __device__ void multiply_add(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) {
    if constexpr (std::is_same_v<T, Bf16>) {
      multiply_add_bf16(c, a, b);
    } else if constexpr (std::is_same_v<T, Fp16>) {
      multiply_add_fp16(c, a, b);
    } else {
      const Packed<4> a_high = high(a), a_low = low(a, a_high);
      const Packed<2> b_high = high(b), b_low = low(b, b_high);
      multiply_add_tf32(c, a_low, b_high);
      multiply_add_tf32(c, a_high, b_low);
      multiply_add_tf32(c, a_high, b_high);
    }
  }

  /// There is no 64-bit version, because a 64-bit atomicAdd in shared memory is a compare-and-swap loop.
  static __device__ uint32_t add(uint32_t* cell, uint32_t x) { return atomicAdd(cell, x); }

  template <class T>
  static __device__ T* scratch() {
    __shared__ T warp_scratch[kLanes / kWarp];
    return warp_scratch;
  }

 private:
  /// Applies f to each 32-bit word of x.
  template <class T, class F>
  static __device__ T by_words(T x, const F& f) {
    static_assert(sizeof(T) % 4 == 0);
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &x, sizeof x);
    for (uint32_t& word : words) word = f(word);
    memcpy(&x, words, sizeof x);
    return x;
  }

  /// Returns each float truncated to tf32; low() returns the remainder.
  template <int N>
  static __device__ Packed<N> high(const Packed<N>& x) {
    Packed<N> result;
    for (int i = 0; i < N; ++i) result.at[i] = x.at[i] & 0xFFFFE000u;
    return result;
  }
  template <int N>
  static __device__ Packed<N> low(const Packed<N>& x, const Packed<N>& high) {
    Packed<N> result;
    for (int i = 0; i < N; ++i) result.at[i] = float_bits(float_from_bits(x.at[i]) - float_from_bits(high.at[i]));
    return result;
  }
  static __device__ void multiply_add_bf16(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
  }
  static __device__ void multiply_add_fp16(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
  }
  static __device__ void multiply_add_tf32(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c.at[0]), "+f"(c.at[1]), "+f"(c.at[2]), "+f"(c.at[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b.at[0]), "r"(b.at[1]));
  }
};

/// The CUDA kernel that runs a kernel struct (lane_block.h). Small blocks ask for two resident blocks per
/// multiprocessor; for a third, ptxas would spill registers to memory.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kLanes, Kernel::kLanes <= 128 ? 2 : 1) run_kernel(Kernel kernel) {
  using Block = LaneBlock<DeviceLanes<Kernel::kLanes>>;
  __shared__ typename Kernel::template Shared<Block> shared;
  kernel.run(Block(), shared, blockIdx.x);
}

/// Launches a kernel struct on `stream` (a cudaStream_t) and does not wait for it; does nothing if it has no blocks.
/// Throws std::runtime_error if the launch fails; `what` begins the message.
template <class Kernel>
void start_kernel(const Kernel& kernel, void* stream, const char* what) {
  if (kernel.num_blocks() == 0) return;
  run_kernel<<<static_cast<unsigned>(kernel.num_blocks()), Kernel::kLanes, 0, static_cast<cudaStream_t>(stream)>>>(
      kernel);
  check_launch(what);
}

}  // namespace roll::cuda
