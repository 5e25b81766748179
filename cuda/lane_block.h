// What a kernel is written in: a block of lanes, as text above a few primitives that have two implementations, CUDA's
// threads (device_lanes.cuh) and fibres of the CPU (tests/cuda/warps.h). All lanes run a kernel's text; what the block
// does together is called by all of them, alike. `Lanes` has
//   kLanes                a multiple of 32, at most 1024; 32 in a row are a warp
//   lane()                this one's number
//   barrier()             where all lanes meet; what they wrote before, all see behind it
//   warp_barrier()        likewise of a warp
//   shuffle_xor(x, k)     x of lane ^ k of the warp, which must all call it; T of whole words. Orders no memory.
//   ballot(is)            the bits of those lanes of the warp where it holds
//   Cell<T>               a T in shared memory: on a GPU a T, on the CPU one that notices races and unwritten reads
//   load<N>(p), store(p, vector)   N numbers at once, from an address that is a multiple of their size
//   add(p, x)             to a cell, whole also against other lanes that add; returns what was there
//   scratch<T>()          a cell for each warp, for the text below
#pragma once

#include <cstdint>

#include "cuda/bf16.h"

#ifdef __CUDACC__
#define ROLL_UNROLL_4 _Pragma("unroll 4")
#else
#define ROLL_UNROLL_4
#endif

namespace roll {

/// Numbers that are read and written at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T at[N];
};

/// A kernel's shared memory where it needs none.
struct NoShared {};

constexpr int kWarp = 32;

template <class T>
ROLL_HOST_DEVICE T larger(T a, T b) {
  return a > b ? a : b;
}

template <class Lanes>
class LaneBlock : public Lanes {
 public:
  using Lanes::kLanes, Lanes::lane, Lanes::barrier;
  static constexpr int kWarps = kLanes / kWarp;
  static_assert(kLanes % kWarp == 0 && (kWarps & (kWarps - 1)) == 0 && kWarps <= kWarp);

  ROLL_KERNEL_TEXT explicit LaneBlock(const Lanes& lanes = Lanes()) : Lanes(lanes) {}

  /// f(i) for i in [0, n), by some lane; ends when all are done.
  template <class I, class F>
  ROLL_KERNEL_TEXT void each(I n, const F& f) const {
    for (I i = static_cast<I>(lane()); i < n; i += kLanes) f(i);
    barrier();
  }

  /// f(i, the N numbers behind x + i) by some lane, for all of [x, x + n): vectors, and one by one what lies before the
  /// first address that is a multiple of theirs and behind the last whole one. Ends with no barrier.
  template <int N, class T, class F>
  ROLL_KERNEL_TEXT void each_vector(const T* x, int64_t n, const F& f) const {
    const auto beyond = static_cast<int>(reinterpret_cast<uintptr_t>(x) / sizeof(T) % N);
    const int64_t lead = beyond == 0 ? 0 : n < N - beyond ? n : N - beyond, last = n - (n - lead) % N;
    if (lane() < lead) f(int64_t{lane()}, Lanes::template load<1>(x + lane()));
    ROLL_UNROLL_4
    for (int64_t i = lead + lane() * N; i < last; i += kLanes * N) f(i, Lanes::template load<N>(x + i));
    if (last + lane() < n) f(last + lane(), Lanes::template load<1>(x + last + lane()));
  }

  /// f() by one lane; ends when it is done.
  template <class F>
  ROLL_KERNEL_TEXT void once(const F& f) const {
    if (lane() == 0) f();
    barrier();
  }

  /// join(...) of all lanes' x, in an order that the lanes' number alone fixes; all know it, behind a barrier.
  template <class T, class Join>
  ROLL_KERNEL_TEXT T joined(T x, const Join& join) const {
    x = joined_in_warp(x, join);
    if (kWarps == 1) {
      barrier();  // as of any number of warps
      return x;
    }
    auto* const of_warp = Lanes::template scratch<T>();
    if (lane() % kWarp == 0) of_warp[lane() / kWarp] = x;
    barrier();
    x = of_warp[lane() % kWarps];
    barrier();  // before the next call writes there
    for (int offset = kWarps / 2; offset > 0; offset /= 2) x = join(x, Lanes::shuffle_xor(x, offset));
    return x;
  }

  template <class T, class Join>
  ROLL_KERNEL_TEXT T joined_in_warp(T x, const Join& join) const {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) x = join(x, Lanes::shuffle_xor(x, offset));
    return x;
  }

  /// f(0) + ... + f(n - 1), known to all lanes.
  template <class F>
  ROLL_KERNEL_TEXT auto sum(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    T mine = 0;
    for (int64_t i = lane(); i < n; i += kLanes) mine += f(i);
    return joined(mine, [](T a, T b) { return a + b; });
  }

  /// n > 0.
  template <class F>
  ROLL_KERNEL_TEXT auto largest(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    T mine = f(0);
    for (int64_t i = lane(); i < n; i += kLanes) mine = larger(mine, f(i));
    return joined(mine, [](T a, T b) { return larger(a, b); });
  }

  /// The largest int64_t where n is 0.
  template <class F>
  ROLL_KERNEL_TEXT int64_t smallest(int64_t n, const F& f) const {
    int64_t mine = INT64_MAX;
    for (int64_t i = lane(); i < n; i += kLanes) {
      const int64_t own = f(i);
      mine = own < mine ? own : mine;
    }
    return joined(mine, [](int64_t a, int64_t b) { return a < b ? a : b; });
  }

  /// out[c] = the sum of f(i) over chunk c of `size` numbers of [0, n), each called once. A warp for each chunk.
  template <class F, class Out>
  ROLL_KERNEL_TEXT void sum_chunks(int64_t n, int64_t size, const F& f, Out* out) const {
    using T = decltype(f(int64_t{0}));
    for (int64_t chunk = lane() / kWarp; chunk * size < n; chunk += kWarps) {
      const int64_t end = n < (chunk + 1) * size ? n : (chunk + 1) * size;
      T mine = 0;
      for (int64_t i = chunk * size + lane() % kWarp; i < end; i += kWarp) mine += f(i);
      mine = joined_in_warp(mine, [](T a, T b) { return a + b; });
      if (lane() % kWarp == 0) out[chunk] = mine;
    }
    barrier();
  }

  /// Likewise the largest, where f may be called more than once.
  template <class F, class Out>
  ROLL_KERNEL_TEXT void largest_chunks(int64_t n, int64_t size, const F& f, Out* out) const {
    using T = decltype(f(int64_t{0}));
    for (int64_t chunk = lane() / kWarp; chunk * size < n; chunk += kWarps) {
      const int64_t end = n < (chunk + 1) * size ? n : (chunk + 1) * size;
      T mine = f(chunk * size);
      for (int64_t i = chunk * size + lane() % kWarp; i < end; i += kWarp) mine = larger(mine, f(i));
      mine = joined_in_warp(mine, [](T a, T b) { return larger(a, b); });
      if (lane() % kWarp == 0) out[chunk] = mine;
    }
    barrier();
  }
};

}  // namespace roll
