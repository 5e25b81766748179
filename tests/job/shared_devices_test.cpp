#include "job/shared_devices.h"

#include <atomic>
#include <vector>

#include "dist/thread_ranks.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

struct Gpu {
  std::string host;
  CudaAddress address;
};

/// What all ranks answer, each with one of these GPUs.
bool all_share(const std::vector<Gpu>& gpus) {
  std::atomic<int> num_yes = 0;
  run_thread_ranks(static_cast<int>(gpus.size()), [&](Communicator& ranks) {
    const Gpu& own = gpus[static_cast<size_t>(ranks.rank())];
    if (share_devices(ranks, own.host, own.address)) ++num_yes;
  });
  CHECK((num_yes == 0 || num_yes == static_cast<int>(gpus.size())));
  return num_yes > 0;
}

}  // namespace

TEST_CASE("ranks share a GPU if its UUID is the same, or its place on one host", "[dist]") {
  // Device 0 of every rank: each sees one GPU only.
  CHECK_FALSE(all_share({{"a", {"u0", "0000:1b:00"}}, {"a", {"u1", "0000:43:00"}}, {"b", {"u2", "0000:1b:00"}}}));
  CHECK(all_share({{"a", {"u0", "0000:1b:00"}}, {"a", {"u0", "0000:1b:00"}}}));
  // Two containers with host names of their own on one GPU, and two parts of one GPU.
  CHECK(all_share({{"pod-1", {"u0", "0000:1b:00"}}, {"pod-2", {"u0", "0000:1b:00"}}}));
  CHECK(all_share({{"a", {"mig-1", "0000:1b:00"}}, {"a", {"mig-2", "0000:1b:00"}}}));
}

}  // namespace roll
