// What a kernel is written in: a block of lanes, as text above a few primitives that have two implementations, CUDA's
// threads (device_lanes.cuh) and fibres of the CPU (tests/cuda/warps.h). All lanes run a kernel's text; what the block
// does together is called by all of them, alike. `Lanes` has
//   kLanes                a multiple of 32, at most 1024; 32 in a row are a warp
//   lane()                this one's number
//   barrier()             where all lanes meet; what they wrote before, all see behind it
//   warp_barrier()        likewise of a warp
//   shuffle_xor(x, k)     x of lane ^ k of the warp, which must all call it; T of whole words. Orders no memory.
//   shuffle(x, i), shuffle_up(x, k)   x of lane i of the warp, and of lane - k, below k the own one
//   ballot(is)            the bits of those lanes of the warp where it holds
//   Cell<T>               a T in shared memory: on a GPU a T, on the CPU one that notices races and unwritten reads
//   load<N>(p), store(p, vector)   N numbers at once, from an address that is a multiple of their size, at most of 16
//   load_some<N>(p, n)    likewise, of which those from n on are nothing and become 0
//   multiply_add<T>(c, a, b)   c [16, 8] += a [16, K] b [K, 8] on tensor cores, by all lanes of a warp, summed in
//   float32. T is
//                         Bf16 or Fp16, two in a word and K = 16; or float, K = 8, to 2^-20 of the products (three of
//                         tf32). With w = 4 / sizeof(T) and a lane's g = lane / 4 and t = lane % 4 of the warp, number
//                         p of word q of its a is [g + 8 (q % 2), w t + p + 4 w (q / 2)], of word h of its b [w t + p +
//                         4 w h, g], and it has [g + 8 r, 2 t + s] of c at 2 r + s
//   add(p, x)             to a cell or 32 bits of device memory, whole also against others that add; returns what was
//                         there
//   scratch<T>()          a cell for each warp, for the text below
#pragma once

#include <cstdint>

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

/// Numbers that are read and written at once.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
  T at[N];
};

/// A kernel's shared memory where it needs none.
struct NoShared {};

/// 32 bits, as words.h has them.
template <int N>
using Packed = Vector<uint32_t, N>;

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
    ROLL_UNROLL_BY(4)
    for (int64_t i = lead + lane() * N; i < last; i += kLanes * N) f(i, Lanes::template load<N>(x + i));
    if (last + lane() < n) f(last + lane(), Lanes::template load<1>(x + last + lane()));
  }

  /// f(i) for i = 0, 4, 8, ... below n, by some lane; ends when all are done.
  template <class F>
  ROLL_KERNEL_TEXT void each_fourth(int32_t n, const F& f) const {
    for (int32_t i = 4 * lane(); i < n; i += 4 * kLanes) f(i);
    barrier();
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
};

}  // namespace roll
