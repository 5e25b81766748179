// The executor of kernels: what lanes do together, and each fault that it must notice, planted.
#include "cuda/warps.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// A kernel of two blocks that runs text(block, shared); its shared memory is some numbers.
template <class Text, int kNumLanes = 64>
struct Planted {
  static constexpr int kLanes = kNumLanes;
  template <class Block>
  struct Shared {
    typename Block::template Cell<float> at[256];
    typename Block::template Cell<uint32_t> count;
  };
  Text text;

  int64_t num_blocks() const { return 2; }
  template <class Block>
  void run(const Block& block, Shared<Block>& shared, int64_t) const {
    text(block, shared);
  }
};

template <class Text>
void run_text(const Text& text) {
  test::run_kernel(Planted<Text>{text});
}

/// What the fault says behind the kernel's name.
template <class Text>
std::string fault_of(const Text& text) {
  try {
    run_text(text);
  } catch (const test::KernelFault& fault) {
    const std::string what = fault.what();
    CHECK(what.find("Planted<") != std::string::npos);
    return what.substr(what.rfind(", block "));
  }
  return "none";
}

}  // namespace

TEST_CASE("lanes see each other's numbers behind barriers, shuffles and ballots", "[cuda]") {
  run_text([](const auto& block, auto& shared) {
    block.each(256, [&](int i) { shared.at[i] = static_cast<float>(i); });
    const float other = shared.at[255 - block.lane()];
    CHECK(other == static_cast<float>(255 - block.lane()));
    for (const int offset : {1, 2, 16, 5}) CHECK(block.shuffle_xor(block.lane(), offset) == (block.lane() ^ offset));
    CHECK(block.ballot(block.lane() % 2 == 1) == 0xAAAAAAAAu);
    CHECK(block.sum(1000, [](int64_t i) { return i; }) == 499500);
    CHECK(block.smallest(300, [](int64_t i) { return 400 - i; }) == 101);
    block.once([&] { shared.count = 0; });
    block.add(&shared.count, 2);
    block.barrier();
    CHECK(shared.count == 128);
    block.barrier();
    const auto four = block.template load<4>(&shared.at[4 * block.lane()]);
    CHECK(four.at[3] == static_cast<float>(4 * block.lane() + 3));
    block.store(&shared.at[4 * block.lane()], Vector<float, 4>{1, 2, 3, 4});
    block.barrier();
    CHECK(shared.at[255 - block.lane()] == static_cast<float>(4 - block.lane() % 4));
  });
}

TEST_CASE("a warp's barrier is enough within the warp, and no more", "[cuda]") {
  const auto text = [](int distance) {
    return [distance](const auto& block, auto& shared) {
      shared.at[block.lane()] = 1;
      block.warp_barrier();
      const float other = shared.at[block.lane() ^ distance];
      CHECK(other == 1);
      block.warp_barrier();
      shared.at[block.lane()] = 2;
    };
  };
  run_text(text(1));
  CHECK(fault_of(text(32)) != "none");
}

TEST_CASE("a lane that misses a barrier is named", "[cuda]") {
  CHECK(fault_of([](const auto& block, auto&) {
          if (block.lane() != 37) block.barrier();
        }) == ", block 1, lane 37: has ended, where lane 0 waits at a barrier");
}

TEST_CASE("a lane that misses a shuffle is named, and so is one that takes another", "[cuda]") {
  CHECK(fault_of([](const auto& block, auto&) {
          if (block.lane() != 5) block.shuffle_xor(1.0f, 4);
        }) == ", block 1, lane 0: waits in a shuffle by 4, where lane 5 has ended");
  CHECK(fault_of([](const auto& block, auto&) { block.shuffle_xor(1.0f, block.lane() == 40 ? 2 : 4); }) ==
        ", block 1, lane 32: waits in a shuffle by 4, where lane 40 waits in a shuffle by 2");
  CHECK(fault_of([](const auto& block, auto&) {
          if (block.lane() == 3)
            block.barrier();
          else
            block.ballot(true);
        }) == ", block 1, lane 0: waits in a ballot, where lane 3 waits at a barrier");
}

TEST_CASE("shared memory that two lanes use with no barrier between is named", "[cuda]") {
  const std::string read_behind_write = fault_of([](const auto& block, auto& shared) {
    block.each(256, [&](int i) { shared.at[i] = 1; });
    shared.at[block.lane()] = 2;
    const float other = shared.at[block.lane() | 1];
    CHECK(other == 2);
  });
  CHECK(read_behind_write ==
        ", block 1, lane 62: reads byte 252 of shared memory, which lane 63 writes with no barrier between");
  CHECK(fault_of([](const auto& block, auto& shared) {  // each lane reads before its neighbour writes
          block.each(256, [&](int i) { shared.at[i] = 1; });
          const float other = shared.at[block.lane() - block.lane() % 2];
          shared.at[block.lane()] = other;
        }) ==
        ", block 1, lane 62: writes byte 248 of shared memory, which another lane of its warp reads with no barrier "
        "between");
  CHECK(fault_of([](const auto&, auto& shared) { shared.at[9] = 1; }) ==
        ", block 1, lane 62: writes byte 36 of shared memory, which lane 63 writes with no barrier between");
  CHECK(fault_of([](const auto& block, auto& shared) {
          block.once([&] { shared.count = 0; });
          block.add(&shared.count, 1);
          const uint32_t count = shared.count;
          CHECK(count > 0);
        }) == ", block 1, lane 62: writes byte 1024 of shared memory, which lane 63 reads with no barrier between");
}

TEST_CASE("readers of several warps are all remembered", "[cuda]") {
  for (const int writer : {0, 1, 31, 32, 63})
    CHECK(fault_of([writer](const auto& block, auto& shared) {
            block.once([&] { shared.at[0] = 1; });
            for (int turn = 0; turn < 64; ++turn) {
              const float seen = block.lane() == turn ? static_cast<float>(shared.at[0]) : 0.0f;
              CHECK(seen >= 0);
              block.warp_barrier();
            }
            if (block.lane() == writer) shared.at[0] = 2;
          }).find(", block 1") == 0);  // the first that runs
}

TEST_CASE("shared memory that nobody wrote is named, whatever an earlier block left there", "[cuda]") {
  CHECK(fault_of([](const auto& block, auto& shared) {
          if (block.lane() < 63) shared.at[block.lane()] = 1;
          block.barrier();
          const float own = shared.at[block.lane()];
          CHECK(own == 1);
        }) == ", block 1, lane 63: reads shared memory that nobody wrote, byte 252 of shared memory");
}

TEST_CASE("vectors at addresses that are no multiples of their size, and poisoned memory, are named", "[cuda]") {
  alignas(16) float memory[8] = {};
  CHECK(fault_of([&](const auto& block, auto&) { block.template load<4>(memory + 1); }) ==
        ", block 1, lane 63: loads 16 bytes at once, 4 bytes behind a multiple of that");
  CHECK(fault_of([&](const auto& block, auto&) { block.store(memory + 2, Vector<float, 4>{}); }) ==
        ", block 1, lane 63: stores 16 bytes at once, 8 bytes behind a multiple of that");
  test::poison(memory + 5, sizeof(float));
  CHECK(fault_of([&](const auto& block, auto&) { block.template load<4>(memory + 4); }) ==
        ", block 1, lane 63: loads device memory that nobody wrote");
  CHECK(fault_of([&](const auto& block, auto&) { block.template load<4>(memory); }) == "none");
}

TEST_CASE("a run goes on after one that failed", "[cuda]") {
  CHECK(fault_of([](const auto& block, auto&) {
          if (block.lane() == 1) block.barrier();
        }) != "none");
  run_text([](const auto& block, auto&) { CHECK(block.sum(64, [](int64_t) { return 1; }) == 64); });
}

}  // namespace roll
