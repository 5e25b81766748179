// A block of lanes (cuda/sample_row_text.h) on the CPU: the lanes take turns, in either order, and sums join the lanes'
// own as a device's threads do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace roll {

class SimulatedBlock {
 public:
  explicit SimulatedBlock(int64_t lanes, bool backwards = false) : lanes_(lanes), backwards_(backwards) {}

  template <class F>
  void each(int64_t n, const F& f) const {
    for_lanes([&](int64_t lane) {
      for (int64_t i = lane; i < n; i += lanes_) f(i);
    });
  }

  template <class F>
  void once(const F& f) const {
    f();
  }

  template <class F>
  auto sum(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    return joined(n, T{0}, f, [](T a, T b) { return a + b; });
  }

  template <class F>
  auto largest(int64_t n, const F& f) const {
    using T = decltype(f(int64_t{0}));
    return joined(n, f(0), f, [](T a, T b) { return a > b ? a : b; });
  }

  template <class F>
  int64_t smallest(int64_t n, const F& f) const {
    return joined(n, std::numeric_limits<int64_t>::max(), f, [](int64_t a, int64_t b) { return std::min(a, b); });
  }

  template <class F, class T>
  void sum_chunks(int64_t n, int64_t size, const F& f, T* out) const {
    for (int64_t chunk = 0; chunk * size < n; ++chunk) {
      T sum = 0;
      for (int64_t i = chunk * size; i < std::min(n, (chunk + 1) * size); ++i) sum += f(i);
      out[chunk] = sum;
    }
  }

  template <class F, class T>
  void largest_chunks(int64_t n, int64_t size, const F& f, T* out) const {
    for (int64_t chunk = 0; chunk * size < n; ++chunk) {
      out[chunk] = f(chunk * size);
      for (int64_t i = chunk * size; i < std::min(n, (chunk + 1) * size); ++i) out[chunk] = std::max(out[chunk], f(i));
    }
  }

  void add(uint64_t* address, uint64_t x) const { *address += x; }

 private:
  template <class F>
  void for_lanes(const F& f) const {
    for (int64_t i = 0; i < lanes_; ++i) f(backwards_ ? lanes_ - 1 - i : i);
  }

  template <class T, class F, class Join>
  T joined(int64_t n, T first, const F& f, const Join& join) const {
    std::vector<T> own(static_cast<size_t>(lanes_), first);
    for_lanes([&](int64_t lane) {
      for (int64_t i = lane; i < n; i += lanes_) own[lane] = join(own[lane], f(i));
    });
    for (int64_t stride = 1; stride < lanes_; stride *= 2)
      for (int64_t i = 0; i + stride < lanes_; i += 2 * stride) own[i] = join(own[i], own[i + stride]);
    return own[0];
  }

  int64_t lanes_;
  bool backwards_;
};

}  // namespace roll
