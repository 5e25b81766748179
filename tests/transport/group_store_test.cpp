#include "transport/group_store.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "dist/thread_ranks.h"

namespace roll {

TEST_CASE("ranks find the store that the first one serves, each group its own", "[dist]") {
  std::vector<std::string> said(4);
  run_thread_ranks(
      4,
      [&](Communicator& world) {
        const int rank = world.rank(), first = rank / 2 * 2;
        const auto pair = world.split({first, first + 1}, "pair");
        const auto store = open_group_store(*pair, 20);
        store->set(fmt::format("{}", pair->rank()), std::vector<uint8_t>{static_cast<uint8_t>('a' + rank)});
        for (const char* key : {"0", "1"}) said[rank] += static_cast<char>(store->get(key).at(0));
        world.barrier("all have read");
      },
      ThreadPace::kTogether);
  CHECK(said == std::vector<std::string>{"ab", "ab", "cd", "cd"});
}

}  // namespace roll
