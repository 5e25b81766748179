// Runs a kernel's text (cuda/lane_block.h) on the CPU: each lane is a fibre, lanes meet at barriers and in warps'
// calls. What a GPU would do at random, or not at all, is a KernelFault that names kernel, block, lane and what: a lane
// that misses a barrier or a shuffle, shared memory that is read or written beside another lane's write with no barrier
// between, or read before it is written, vectors at addresses that are no multiples of their size, and, in vectors,
// device memory that nobody wrote. Odd blocks take their lanes backwards.
#pragma once

#include <cstring>

#include "cuda/lane_block.h"
#include "cuda/lane_executor.h"

namespace roll::test {

/// A T of the block's shared memory.
template <class T>
class SharedCell {
 public:
  static_assert(sizeof(T) % 2 == 0);
  SharedCell() = default;
  SharedCell(const SharedCell&) = delete;
  operator T() const {
    Warps::of_thread().read(&value_, sizeof value_);
    return value_;
  }
  SharedCell& operator=(T x) {
    Warps::of_thread().write(&value_, sizeof value_);
    value_ = x;
    return *this;
  }
  SharedCell& operator=(const SharedCell& other) { return *this = static_cast<T>(other); }
  SharedCell& operator+=(T x) { return *this = static_cast<T>(*this) + x; }
  SharedCell& operator-=(T x) { return *this = static_cast<T>(*this) - x; }
  SharedCell& operator*=(T x) { return *this = static_cast<T>(*this) * x; }

 private:
  template <int>
  friend struct FibreLanes;
  T value_;
};

/// The primitives of cuda/lane_block.h.
template <int kNumLanes>
struct FibreLanes {
  static constexpr int kLanes = kNumLanes;
  template <class T>
  using Cell = SharedCell<T>;

  int own = 0;

  static Warps& warps() { return Warps::of_thread(); }
  int lane() const { return own; }
  void barrier() const { warps().barrier(); }
  void warp_barrier() const { warps().warp_barrier(); }
  uint32_t ballot(bool is) const { return warps().ballot(is); }
  template <class T>
  T shuffle_xor(T x, int offset) const {
    return warps().shuffle_xor(x, offset);
  }
  template <class T>
  T shuffle_up(T x, int offset) const {
    return warps().shuffle_up(x, offset);
  }
  template <class T>
  T shuffle(T x, int from) const {
    return warps().shuffle(x, from);
  }

  template <int N, class T>
  Vector<T, N> load(const T* from) const {
    warps().check_alignment(from, sizeof(Vector<T, N>), "loads");
    Vector<T, N> vector;
    memcpy(&vector, from, sizeof vector);
    warps().note_load(from, sizeof vector);
    for (const T& x : vector.at)
      if (is_poison(x)) warps().fault("loads device memory that nobody wrote");
    return vector;
  }
  template <int N, class T>
  Vector<T, N> load_some(const T* from, int count) const {
    warps().check_alignment(from, sizeof(Vector<T, N>), "loads");
    Vector<T, N> vector = {};
    for (int i = 0; i < N && i < count; ++i) vector.at[i] = load<1>(from + i).at[0];
    return vector;
  }
  template <class T>
  void multiply_add(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) const {
    warps().multiply_add<T>(c, a, b);
  }
  template <int N, class T>
  Vector<T, N> load(const SharedCell<T>* from) const {
    warps().check_alignment(from, sizeof(Vector<T, N>), "loads");
    warps().read(from, sizeof(Vector<T, N>));
    Vector<T, N> vector;
    memcpy(&vector, static_cast<const void*>(from), sizeof vector);
    return vector;
  }
  template <int N, class T>
  void store(T* to, const Vector<T, N>& vector) const {
    warps().check_alignment(to, sizeof vector, "stores");
    memcpy(to, &vector, sizeof vector);
  }
  template <int N, class T>
  void store(SharedCell<T>* to, const Vector<T, N>& vector) const {
    warps().check_alignment(to, sizeof vector, "stores");
    warps().write(to, sizeof vector);
    memcpy(static_cast<void*>(to), &vector, sizeof vector);
  }

  template <class T>
  T add(SharedCell<T>* cell, std::type_identity_t<T> x) const {
    warps().write(&cell->value_, sizeof(T), /*is_adding=*/true);
    const T before = cell->value_;
    cell->value_ += x;
    return before;
  }

  /// Device memory: blocks run one after the other.
  uint32_t add(uint32_t* cell, uint32_t x) const {
    const uint32_t before = *cell;
    *cell += x;
    return before;
  }

  template <class T>
  SharedCell<T>* scratch() const {
    static_assert(sizeof(T) <= 32);
    return reinterpret_cast<SharedCell<T>*>(warps().scratch());
  }
};

/// Block `index` of the kernel's.
template <class Kernel>
void run_block(const Kernel& kernel, int64_t index) {
  using Block = LaneBlock<FibreLanes<Kernel::kLanes>>;
  using Shared = typename Kernel::template Shared<Block>;
  static_assert(sizeof(Shared) <= Warps::kSharedBytes && Kernel::kLanes <= Warps::kMostLanes);
  const auto one = [&](int lane) {
    auto& shared = *reinterpret_cast<Shared*>(Warps::of_thread().shared());
    kernel.run(Block({lane}), shared, index);
  };
  Warps::of_thread().run(
      typeid(Kernel), index, Kernel::kLanes,
      [](const void* text, int lane) { (*static_cast<decltype(&one)>(text))(lane); }, &one);
}

/// All blocks of the kernel, the last one first.
template <class Kernel>
void run_kernel(const Kernel& kernel) {
  for (int64_t i = kernel.num_blocks(); i-- > 0;) run_block(kernel, i);
}

}  // namespace roll::test
