// LaneBlock, the class that all kernel bodies are written against (their template parameter Block), so that they run on
// a GPU and, in tests, on the CPU. A block is a CUDA thread block, a lane one of its threads.
//
// A kernel is a struct of its arguments. It has kLanes (lanes per block), num_blocks(), a type Shared<Block> of the
// block's shared memory, and run(block, shared, index), the body, which every lane of block `index` runs.
//
// LaneBlock adds loops and reductions to a class `Lanes` of primitives. CUDA threads (device_lanes.cuh) and CPU fibers
// (tests/cuda/warps.h) implement `Lanes`. All lanes of a block must call barrier() and LaneBlock's functions, in the
// same order. Exceptions: warp_barrier(), shuffles, ballot(), multiply_add() and joined_in_warp() are called by all
// lanes of one warp. `Lanes` has
//   kLanes                lanes per block: a multiple of 32, at most 1024; 32 consecutive lanes are a warp
//   lane()                index of this lane
//   barrier()             waits for all lanes; afterwards each sees what the others wrote before
//   warp_barrier()        the same for the lanes of a warp
//   shuffle_xor(x, k)     x of lane ^ k of the warp; the size of x is a multiple of 4 bytes. Orders no memory.
//   shuffle(x, i), shuffle_up(x, k)   x of the warp's lane i; x of lane - k, or the lane's own x below lane k
//   ballot(is)            bit mask of the warp's lanes with is = true
//   Cell<T>               a T in shared memory; the CPU version detects races and reads of unwritten cells
//   load<N>(p), store(p, vector)   N elements, at most 16 bytes, at an address that is a multiple of their size
//   load_some<N>(p, n)    like load<N>(p), and may read all N, but elements n, n + 1, ... of the result are 0
//   multiply_add<T>(c, a, b)   c [16, 8] += a [16, K] b [K, 8] on tensor cores, summed in float32, by a warp.
//                         T: Bf16 or Fp16 (two per word, K = 16), or float (K = 8, error 2^-20 of the products, by
//                         three tf32 products). Fragments, with w = 4 / sizeof(T), g = lane / 4 and t = lane % 4 of the
//                         warp: element p of word q of a is [g + 8 (q % 2), w t + p + 4 w (q / 2)]; element p of word h
//                         of b is [w t + p + 4 w h, g]; element 2 r + s of c is [g + 8 r, 2 t + s]
//   add(p, x)             atomic 32-bit add to shared or device memory; returns the old value
//   scratch<T>()          shared array of one T per warp, used by joined()
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/words.h"

#ifdef __CUDACC__
#define ROLL_PRAGMA(text) _Pragma(#text)
#define ROLL_UNROLL _Pragma("unroll")
#define ROLL_UNROLL_BY(count) ROLL_PRAGMA(unroll(count))
#else
#define ROLL_UNROLL
#define ROLL_UNROLL_BY(count)
#endif

namespace roll {

/// Elements that are loaded and stored in one access.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
  T at[N];
};

/// Shared-memory type of kernels that need none.
struct NoShared {};

/// N 32-bit words, each one float or two 16-bit floats (words.h).
template <int N>
using Packed = Vector<uint32_t, N>;

constexpr int kWarp = 32;  // lanes per warp

template <class T>
ROLL_HOST_DEVICE T larger(T a, T b) {
  return a > b ? a : b;
}

/// A lane's view of its block. I: an integer type. f, join: functions that any lane may call.
template <class Lanes>
class LaneBlock : public Lanes {
 public:
  using Lanes::kLanes, Lanes::lane, Lanes::barrier;
  static constexpr int kWarps = kLanes / kWarp;
  static_assert(kLanes % kWarp == 0 && (kWarps & (kWarps - 1)) == 0 && kWarps <= kWarp);

  ROLL_KERNEL_TEXT explicit LaneBlock(const Lanes& lanes = Lanes()) : Lanes(lanes) {}

  /// Calls f(i) for i in [0, n), each in some lane; ends with a barrier.
  template <class I, class F>
  ROLL_KERNEL_TEXT void each(I n, const F& f) const {
    for (I i = static_cast<I>(lane()); i < n; i += kLanes) f(i);
    barrier();
  }

  /// Calls f(i, vector at x + i) for all elements of [x, x + n), each in some lane: vectors of N where aligned, single
  /// elements at both ends. Ends without a barrier.
  template <int N, class T, class F>
  ROLL_KERNEL_TEXT void each_vector(const T* x, int64_t n, const F& f) const {
    const auto beyond = static_cast<int>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % N);
    const int64_t lead = beyond == 0 ? 0 : n < N - beyond ? n : N - beyond, last = n - (n - lead) % N;
    if (lane() < lead) f(int64_t{lane()}, Lanes::template load<1>(x + lane()));
    ROLL_UNROLL_BY(4)
    for (int64_t i = lead + lane() * N; i < last; i += kLanes * N) f(i, Lanes::template load<N>(x + i));
    if (last + lane() < n) f(last + lane(), Lanes::template load<1>(x + last + lane()));
  }

  /// Calls f(i) for i = 0, 4, 8, ... below n, each in some lane; ends with a barrier.
  template <class F>
  ROLL_KERNEL_TEXT void each_fourth(int32_t n, const F& f) const {
    for (int32_t i = 4 * lane(); i < n; i += 4 * kLanes) f(i);
    barrier();
  }

  /// Calls f() in lane 0; ends with a barrier.
  template <class F>
  ROLL_KERNEL_TEXT void once(const F& f) const {
    if (lane() == 0) f();
    barrier();
  }

  /// Returns the reduction of all lanes' x by join(a, b), in every lane; includes a barrier. The order of the reduction
  /// depends on kLanes only, so that float sums are reproducible.
  template <class T, class Join>
  ROLL_KERNEL_TEXT T joined(T x, const Join& join) const {
    x = joined_in_warp(x, join);
    if (kWarps == 1) {
      barrier();  // same guarantee as below
      return x;
    }
    auto* const warp_scratch = Lanes::template scratch<T>();
    if (lane() % kWarp == 0) warp_scratch[lane() / kWarp] = x;
    barrier();
    x = warp_scratch[lane() % kWarps];
    barrier();  // all lanes have read before the next call writes
    for (int offset = kWarps / 2; offset > 0; offset /= 2) x = join(x, Lanes::shuffle_xor(x, offset));
    return x;
  }

  /// Like joined(), but over the lanes of the caller's warp, and without a barrier.
  template <class T, class Join>
  ROLL_KERNEL_TEXT T joined_in_warp(T x, const Join& join) const {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) x = join(x, Lanes::shuffle_xor(x, offset));
    return x;
  }

  /// Returns f(0) + ... + f(n - 1) in every lane.
  template <class F>
  ROLL_KERNEL_TEXT auto sum(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    T local = 0;
    for (int64_t i = lane(); i < n; i += kLanes) local += f(i);
    return joined(local, [](T a, T b) { return a + b; });
  }

  /// Returns the smallest f(i), i in [0, n), in every lane; INT64_MAX if n is 0.
  template <class F>
  ROLL_KERNEL_TEXT int64_t smallest(int64_t n, const F& f) const {
    int64_t local = INT64_MAX;
    for (int64_t i = lane(); i < n; i += kLanes) {
      const int64_t candidate = f(i);
      local = candidate < local ? candidate : local;
    }
    return joined(local, [](int64_t a, int64_t b) { return a < b ? a : b; });
  }

  /// Sets out[c] to the sum of f(i) over i in [c size, (c + 1) size) and below n, for all such c; one warp per sum.
  /// Ends with a barrier.
  template <class F, class Out>
  ROLL_KERNEL_TEXT void sum_chunks(int64_t n, int64_t size, const F& f, Out* out) const {
    using T = decltype(f(int64_t{0}));
    for (int64_t chunk = lane() / kWarp; chunk * size < n; chunk += kWarps) {
      const int64_t end = n < (chunk + 1) * size ? n : (chunk + 1) * size;
      T local = 0;
      for (int64_t i = chunk * size + lane() % kWarp; i < end; i += kWarp) local += f(i);
      local = joined_in_warp(local, [](T a, T b) { return a + b; });
      if (lane() % kWarp == 0) out[chunk] = local;
    }
    barrier();
  }
};

/// Returns 16 bytes of T (float, Bf16 or Fp16) as the words that multiply_add() takes.
template <class T>
ROLL_HOST_DEVICE Packed<4> packed_words(const Vector<T, 16 / sizeof(T)>& vector) {
  Packed<4> words;
  memcpy(&words, &vector, sizeof words);
  return words;
}

/// Loads 16 bytes of T as such words.
template <class Block, class T>
ROLL_KERNEL_TEXT Packed<4> words_at(const Block& block, const T* from) {
  return packed_words<T>(block.template load<16 / sizeof(T)>(from));
}

}  // namespace roll
