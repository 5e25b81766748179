// What a block's lanes do on the CPU: each is a fibre, they meet at barriers and in their warps' calls, and what a GPU
// would do at random is a KernelFault. warps.h runs kernels on it.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "cuda/fibres.h"
#include "cuda/lane_block.h"

namespace roll::test {

struct KernelFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What fresh device memory is full of, in 16 bits: NaN as bfloat16, twice as float32, and far from any index.
constexpr uint16_t kPoison = 0x7FFD;

inline void poison(void* memory, size_t bytes) {
  for (size_t i = 0; i + 1 < bytes; i += 2) memcpy(static_cast<char*>(memory) + i, &kPoison, 2);
}

template <class T>
bool is_poison(const T& x) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 2) return false;  // a number as any other
  uint16_t halves[(sizeof(T) + 1) / 2] = {};
  memcpy(halves, &x, sizeof(T));
  bool all = sizeof(T) > 1;
  for (const uint16_t half : halves) all = all && half == kPoison;
  return all;
}

class Warps {
 public:
  static constexpr int kMostLanes = 1024;
  static constexpr size_t kSharedBytes = 48 << 10;  // what a GPU's block has without asking

  static Warps& of_thread() {
    static thread_local Warps warps;
    return warps;
  }

  /// text(context, lane) for each of the lanes, all of one block.
  void run(const std::type_info& kernel, int64_t block, int num_lanes, void (*text)(const void*, int),
           const void* context) {
    kernel_ = &kernel, block_ = block, num_lanes_ = num_lanes, text_ = text, context_ = context;
    error_.clear();
    first_epoch_ = ++epoch_;
    for (int lane = 0; lane < num_lanes; ++lane) {
      fibres_.begin(lane, [] { of_thread().begin_lane(); });
      lanes_[lane] = {};
    }
    for (bool has_ended = false; !has_ended;) {
      for (int warp = 0; warp * kWarp < num_lanes; ++warp) run_warp(ordered(warp, num_lanes / kWarp) * kWarp);
      has_ended = meet_at_barrier();
    }
  }

  void barrier() { wait({State::kAtBarrier, kBarrier, 0}); }
  void warp_barrier() { wait({State::kInWarp, kWarpBarrier, 0}); }

  template <class T>
  T shuffle_xor(T x, int offset) {
    return shuffled(x, {State::kInWarp, kShuffleXor, offset}, now_ ^ offset);
  }
  template <class T>
  T shuffle_up(T x, int offset) {
    return shuffled(x, {State::kInWarp, kShuffleUp, offset}, now_ % kWarp < offset ? now_ : now_ - offset);
  }
  template <class T>
  T shuffle(T x, int from) {
    return shuffled(x, {State::kInWarp, kShuffle, 0}, now_ / kWarp * kWarp + from);
  }

  uint32_t ballot(bool is) {
    const int lane = now_, turn = lanes_[lane].turn ^= 1;
    exchanged_[turn][lane].bytes[0] = is;
    wait({State::kInWarp, kBallot, 0});
    uint32_t bits = 0;
    for (int i = 0; i < kWarp; ++i) bits |= uint32_t{exchanged_[turn][lane / kWarp * kWarp + i].bytes[0]} << i;
    return bits;
  }

  /// As cuda/lane_block.h says; each sum is rounded once.
  template <class T>
  void multiply_add(Vector<float, 4>& c, const Packed<4>& a, const Packed<2>& b) {
    constexpr int kWidth = 4 / sizeof(T);
    struct Factors {
      T a[4 * kWidth], b[2 * kWidth];
    };
    const int lane = now_, turn = lanes_[lane].turn ^= 1, first = lane / kWarp * kWarp;
    memcpy(exchanged_[turn][lane].bytes, &a, sizeof a);
    memcpy(exchanged_[turn][lane].bytes + sizeof a, &b, sizeof b);
    wait({State::kInWarp, kProduct, 0});
    const auto factors_of = [&](int other) {
      Factors factors;
      memcpy(&factors, &exchanged_[turn][first + other], sizeof factors);
      return factors;
    };
    double sums[4] = {c.at[0], c.at[1], c.at[2], c.at[3]};
    const int g = lane % kWarp / 4, t = lane % 4;
    for (int u = 0; u < 4; ++u) {  // the lanes that have these rows and columns
      const Factors left = factors_of(4 * g + u), right[2] = {factors_of(8 * t + u), factors_of(8 * t + 4 + u)};
      for (int e = 0; e < 4; ++e)
        for (int h = 0; h < 2; ++h)
          for (int p = 0; p < kWidth; ++p)
            sums[e] += static_cast<double>(to_float(left.a[kWidth * (2 * h + e / 2) + p])) *
                       to_float(right[e % 2].b[kWidth * h + p]);
    }
    for (int e = 0; e < 4; ++e) c.at[e] = static_cast<float>(sums[e]);
  }

  void read(const void* cell, size_t bytes) {
    for (Half& half : halves_of(cell, bytes)) {
      if (half.write.epoch < first_epoch_) fault("reads shared memory that nobody wrote, " + place_of(cell));
      if (is_beside(half.write))
        fault("reads " + place_of(cell) + ", which " + writer(half) + " with no barrier between");
      note_read(half);
    }
  }

  void write(const void* cell, size_t bytes, bool is_adding = false) {
    for (Half& half : halves_of(cell, bytes)) {
      if (is_adding && half.write.epoch < first_epoch_)
        fault("adds to shared memory that nobody wrote, " + place_of(cell));
      const bool both_add = is_adding && half.is_added;
      if (!both_add && is_beside(half.write))
        fault("writes " + place_of(cell) + ", which " + writer(half) + " with no barrier between");
      for (const Access& read : half.reads)
        if (is_beside(read))
          fault("writes " + place_of(cell) + ", which " + who(read) + " reads with no barrier between");
      const bool is_many = both_add && half.write.epoch == epoch_ && (half.write.is_many || half.write.lane != now_);
      half.write = access();
      half.write.is_many = is_many;
      half.is_added = is_adding;
    }
  }

  /// From now on what vectors read of [begin, end) is counted.
  void watch(const void* begin, const void* end) { watched_[0] = begin, watched_[1] = end, watched_bytes_ = 0; }
  int64_t watched_bytes() const { return watched_bytes_; }
  void note_load(const void* from, size_t bytes) {
    if (!std::less<>()(from, watched_[0]) && std::less<>()(from, watched_[1]))
      watched_bytes_ += static_cast<int64_t>(bytes);
  }

  void check_alignment(const void* address, size_t bytes, const char* verb) const {
    bytes = std::min(bytes, size_t{16});  // more is several accesses
    const size_t beyond = reinterpret_cast<uintptr_t>(address) % bytes;
    if (beyond != 0)
      fault(std::string(verb) + " " + std::to_string(bytes) + " bytes at once, " + std::to_string(beyond) +
            " bytes behind a multiple of that");
  }

  [[noreturn]] void fault(const std::string& what) const { fault_of(now_, what); }

  char* shared() { return shared_; }
  char* scratch() { return shared_ + kSharedBytes; }

 private:
  enum class State : uint8_t { kReady, kAtBarrier, kInWarp, kEnded };
  struct Wait {
    State state = State::kReady;
    const char* what = "";
    int offset = 0;
  };
  struct Lane : Wait {
    int turn = 0;
  };
  struct alignas(16) Exchanged {
    uint8_t bytes[32];
  };
  struct Access {
    int64_t epoch = 0;
    int32_t warp_epoch = 0;
    int16_t lane = 0;
    bool is_many = false;  // other lanes of this warp too
  };
  /// What is known of two bytes of shared memory. Of reads: two of different warps tell of any write what it is beside.
  struct Half {
    Access write, reads[2];
    bool is_added = false;
  };
  struct Halves {
    Half *first, *last;
    Half* begin() const { return first; }
    Half* end() const { return last; }
  };

  Warps() : fibres_(kMostLanes), lanes_(kMostLanes), halves_((kSharedBytes + kScratchBytes) / 2) {}

  int ordered(int i, int count) const { return block_ % 2 == 1 ? count - 1 - i : i; }

  void begin_lane() {
    fibres_.arrived();
    const int lane = now_;
    try {
      text_(context_, lane);
    } catch (const std::exception& error) {
      error_ = error.what();
    }
    for (;;) wait({State::kEnded, kEnd, 0});
  }

  template <class T>
  T shuffled(T x, const Wait& wait_for, int from) {
    static_assert(sizeof(T) <= sizeof(Exchanged) && sizeof(T) % 4 == 0);
    const int lane = now_, turn = lanes_[lane].turn ^= 1;  // who is slow may still read what the last call left
    memcpy(&exchanged_[turn][lane], &x, sizeof x);
    wait(wait_for);
    memcpy(static_cast<void*>(&x), &exchanged_[turn][from], sizeof x);
    return x;
  }

  void wait(const Wait& why) {
    const int lane = now_;
    static_cast<Wait&>(lanes_[lane]) = why;
    fibres_.suspend(lane);
  }

  void run_warp(int first) {
    for (;;) {
      for (int i = 0; i < kWarp; ++i) {
        now_ = first + ordered(i, kWarp);
        if (lanes_[now_].state == State::kReady) fibres_.resume(now_);
        if (!error_.empty()) throw KernelFault(error_);
      }
      int waiting = -1;
      for (int i = first; i < first + kWarp && waiting < 0; ++i)
        if (lanes_[i].state == State::kInWarp) waiting = i;
      if (waiting < 0) return;
      for (int i = first; i < first + kWarp; ++i)
        if (lanes_[i].what != lanes_[waiting].what || lanes_[i].offset != lanes_[waiting].offset)
          fault_of(waiting, told(waiting) + ", where lane " + std::to_string(i) + " " + told(i));
      warp_epochs_[first / kWarp] += lanes_[waiting].what == kWarpBarrier;
      for (int i = first; i < first + kWarp; ++i) lanes_[i].state = State::kReady;
    }
  }

  /// Whether all have ended instead.
  bool meet_at_barrier() {
    for (int i = 1; i < num_lanes_; ++i)
      if (lanes_[i].state != lanes_[0].state) {
        const int waiting = lanes_[0].state == State::kAtBarrier ? 0 : i, other = waiting == 0 ? i : 0;
        fault_of(other, told(other) + ", where lane " + std::to_string(waiting) + " " + told(waiting));
      }
    if (lanes_[0].state == State::kEnded) return true;
    ++epoch_;
    for (int i = 0; i < num_lanes_; ++i) lanes_[i].state = State::kReady;
    return false;
  }

  std::string told(int lane) const {
    const Lane& one = lanes_[lane];
    return one.offset == 0 ? one.what : one.what + std::to_string(one.offset);
  }

  [[noreturn]] void fault_of(int lane, const std::string& what) const {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(kernel_->name(), nullptr, nullptr, &status), &std::free);
    throw KernelFault(std::string(name ? name.get() : kernel_->name()) + ", block " + std::to_string(block_) +
                      ", lane " + std::to_string(lane) + ": " + what);
  }

  Halves halves_of(const void* cell, size_t bytes) {
    const ptrdiff_t offset = static_cast<const char*>(cell) - shared_;
    if (offset < 0 || offset + bytes > kSharedBytes + kScratchBytes) fault("takes other memory for the block's own");
    Half* const first = halves_.data() + offset / 2;
    return {first, first + bytes / 2};
  }

  Access access() const { return {epoch_, warp_epochs_[now_ / kWarp], static_cast<int16_t>(now_)}; }

  bool is_own_warp(const Access& other) const { return other.lane / kWarp == now_ / kWarp; }

  /// Whether no barrier parts another lane's access from what this lane does now.
  bool is_beside(const Access& other) const {
    if (other.epoch != epoch_ || (other.lane == now_ && !other.is_many)) return false;
    return !is_own_warp(other) || other.warp_epoch == warp_epochs_[now_ / kWarp];
  }

  void note_read(Half& half) {
    for (Access& read : half.reads) {
      if (read.epoch == epoch_ && !is_own_warp(read)) continue;
      const bool is_many =
          read.epoch == epoch_ && read.warp_epoch == warp_epochs_[now_ / kWarp] && (read.is_many || read.lane != now_);
      read = access();
      read.is_many = is_many;
      return;
    }
  }

  std::string place_of(const void* cell) const {
    return "byte " + std::to_string(static_cast<const char*>(cell) - shared_) + " of shared memory";
  }
  std::string who(const Access& access) const {
    return access.lane == now_ ? "another lane of its warp" : "lane " + std::to_string(access.lane);
  }
  std::string writer(const Half& half) const { return who(half.write) + (half.is_added ? " adds to" : " writes"); }

  static constexpr size_t kScratchBytes = 1024;
  static constexpr const char *kBarrier = "waits at a barrier", *kWarpBarrier = "waits at a barrier of its warp",
                              *kShuffleXor = "waits in a shuffle by ", *kShuffleUp = "waits in a shuffle up by ",
                              *kShuffle = "waits in a shuffle", *kBallot = "waits in a ballot",
                              *kProduct = "waits in a product", *kEnd = "has ended";

  alignas(16) char shared_[kSharedBytes + kScratchBytes];
  Fibres fibres_;
  std::vector<Lane> lanes_;
  std::vector<Half> halves_;
  Exchanged exchanged_[2][kMostLanes];
  int32_t warp_epochs_[kMostLanes / kWarp] = {};
  int64_t epoch_ = 0, first_epoch_ = 0;  // barriers passed, of all blocks; where this block began
  const std::type_info* kernel_ = nullptr;
  int64_t block_ = 0;
  int num_lanes_ = 0, now_ = 0;
  void (*text_)(const void*, int) = nullptr;
  const void* context_ = nullptr;
  std::string error_;
  const void* watched_[2] = {};
  int64_t watched_bytes_ = 0;
};

}  // namespace roll::test
