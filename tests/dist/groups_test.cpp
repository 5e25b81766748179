// Groups of ranks: their messages, their errors, what they count, and what becomes of collectives that nobody joins.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <future>

#include "base/error.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "job/join.h"

namespace roll {

using Catch::Contains;
using test::run_local_ranks;

TEST_CASE("groups do not mix their messages, in whatever order their ranks use them", "[dist]") {
  const auto said = run_local_ranks(4, [](Communicator& world) {
    const int rank = world.rank();
    const auto even_odd = world.split({rank % 2, rank % 2 + 2}, "tp");
    const auto halves = world.split({rank / 2 * 2, rank / 2 * 2 + 1}, "dp");
    at::Tensor a = at::full({9}, std::pow(10, rank)), b = a.clone();
    // Ranks 0 and 3 begin with the one group, 1 and 2 with the other: over one channel they would meet each other.
    const bool swaps = rank == 1 || rank == 2;
    auto first = swaps ? halves->start_all_reduce(b, "b") : even_odd->start_all_reduce(a, "a");
    auto second = swaps ? even_odd->start_all_reduce(a, "a") : halves->start_all_reduce(b, "b");
    const int64_t everyone = world.all_reduce_sum(int64_t{1}, "everyone");
    first->wait(), second->wait();
    return fmt::format("{}/{} {} {}/{} {} all {}", even_odd->rank(), even_odd->size(), a[8].item<float>(),
                       halves->rank(), halves->size(), b[8].item<float>(), everyone);
  });
  CHECK(said[0] == "0/2 101 0/2 11 all 4");
  CHECK(said[1] == "0/2 1010 1/2 11 all 4");
  CHECK(said[2] == "1/2 101 0/2 1100 all 4");
  CHECK(said[3] == "1/2 1010 1/2 1100 all 4");
}

TEST_CASE("a group of one is single, and groups are split again", "[dist]") {
  const auto said = run_local_ranks(4, [](Communicator& world) {
    const auto alone = world.split({world.rank()}, "cp");
    const auto last = world.split(world.rank() == 0 ? std::vector<int>{0} : std::vector<int>{1, 2, 3}, "last");
    std::vector<int> members = {0};
    if (last->rank() > 0) members = {1, 2};
    const auto pair = last->split(members, "pair");
    const int64_t sum = pair->all_reduce_sum(int64_t{world.rank()}, "pair");
    world.barrier("rank 0 holds the store until all have met");
    if (world.rank() == 0) return fmt::format("{} {} {}", alone->kind(), alone->group(), last->kind());
    return fmt::format("{} {} of {}", pair->kind(), sum, pair->size());
  });
  CHECK(said == std::vector<std::string>{"single cp single", "single 1 of 1", "tcp 5 of 2", "tcp 5 of 2"});
}

TEST_CASE("a rank that is not in the group that it makes is a bug", "[dist]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  CHECK_THROWS_WITH(alone->split({1}, "tp"), Contains("a rank belongs to the group that it creates"));
}

TEST_CASE("errors of a group name its ranks by their numbers in the world, and the group", "[dist]") {
  std::promise<void> given_up;
  const auto late = run_local_ranks(
      4,
      [&](Communicator& world) {
        const auto group = world.split({world.rank() % 2, world.rank() % 2 + 2}, "tp");
        world.set_step(3);
        world.barrier("all have met");
        if (world.rank() == 3) given_up.get_future().wait();
        if (world.rank() != 1) return std::string();
        at::Tensor x = at::ones({4});
        const std::string text = test::message_of([&] { group->all_reduce_sum(x, "activations"); });
        given_up.set_value();
        return text;
      },
      3);
  CHECK_THAT(late[1], Contains("rank 1 of 4, step 3: all-reduce (sum) 'activations' of its tp group: waited 3.0 s and "
                               "nothing came from rank 3;"));
  const auto diverged = run_local_ranks(4, [](Communicator& world) {
    const auto group = world.split({world.rank() % 2, world.rank() % 2 + 2}, "tp");
    world.barrier("all have met");
    if (world.rank() % 2 == 1) group->barrier(world.rank() == 1 ? "one" : "two");
    return std::string();
  });
  CHECK_THAT(diverged[1], Contains("rank 1 of 4: ranks of its tp group diverged: this rank is in all-gather of bytes "
                                   "'one'") &&
                              Contains(", rank 3 in all-gather of bytes 'two'"));
}

TEST_CASE("what each collective sends is counted by phase, group and kind", "[dist]") {
  const auto said = run_local_ranks(4, [](Communicator& world) {
    const auto tp = world.split({world.rank() / 2 * 2, world.rank() / 2 * 2 + 1}, "tp");
    world.traffic().take();
    world.traffic().set_phase("here");
    at::Tensor large = at::ones({16000}), small = at::ones({1000}), at_border = at::ones({4096});
    world.all_reduce_sum(large, "x");                                     // 64000 B: 2 x 3/4 of it
    world.all_gather_rows(small, "x");                                    // 4000 B to 3 ranks
    world.start_all_gather(small.narrow(0, 0, 250), small, "x")->wait();  // 1000 B to 3 ranks
    world.reduce_scatter_rows(large, "x");                                // 3/4 of 64000 B
    world.broadcast(small, 2, "x");                                       // 4000 B to 3 ranks, from rank 2
    tp->all_reduce_max(small, "x");        // 4000 B to one rank: small ones go to everyone at once
    world.all_reduce_sum(at_border, "x");  // 16384 B to 3 ranks, the last that is small
    tp->set_step(7);
    world.traffic().set_phase("there");
    tp->all_gather_bytes("12345", "x");
    std::string text;
    for (const auto& [key, count] : world.traffic().take())
      text += fmt::format("{} {}x {}, ", key, count.calls, count.bytes);
    return fmt::format("{}then {}, step {}", text, world.traffic().take().size(), world.traffic().step());
  });
  for (const size_t rank : {0, 1, 2, 3})
    CHECK(said[rank] ==
          fmt::format("here/tp/all_reduce 1x 4000, here/world/all_gather 2x 15000, "
                      "here/world/all_reduce 2x 145152, here/world/broadcast 1x {}, "
                      "here/world/reduce_scatter 1x 48000, there/tp/all_gather_bytes 1x 5, then 0, step 7",
                      rank == 2 ? 12000 : 0));
}

TEST_CASE("small sums of more than eight ranks go to the first rank and back, and are counted so", "[dist]") {
  const auto said = run_local_ranks(9, [](Communicator& world) {
    world.traffic().take();
    at::Tensor small = at::ones({1000}), large = at::ones({9 * 1000});
    world.all_reduce_sum(small, "x");  // 4000 B to the first rank, which sends as much to 8 ranks
    const auto first = world.traffic().take();
    world.all_reduce_sum(large, "x");  // in slices: 2 x 8/9 of 36000 B
    return fmt::format("{} {} {}", small[999].item<float>(), first.at("start/world/all_reduce").bytes,
                       world.traffic().take().at("start/world/all_reduce").bytes);
  });
  for (size_t rank = 0; rank < 9; ++rank) CHECK(said[rank] == (rank == 0 ? "9 32000 64000" : "9 4000 64000"));
}

TEST_CASE("a started collective's error comes out of wait()", "[dist]") {
  std::promise<void> given_up;
  const auto said = run_local_ranks(
      2,
      [&](Communicator& world) {
        const auto group = world.split({0, 1}, "shards");
        world.barrier("both are here");
        if (!world.is_first()) return given_up.get_future().wait(), std::string();
        const auto pending = group->start_all_reduce(at::ones({4}), "bucket 0");
        const std::string text = test::message_of([&] { pending->wait(); });
        given_up.set_value();
        return text;
      },
      3);
  CHECK_THAT(said[0], Contains("'bucket 0' of its shards group: waited 3.0 s and nothing came from rank 1"));
}

TEST_CASE("a communicator that goes away gives up what it has started", "[dist]") {
  const auto said = run_local_ranks(
      2,
      [](Communicator& world) {
        std::string texts;
        std::vector<std::unique_ptr<Pending>> started;
        at::Tensor x = at::ones({40000});
        auto group = world.split({0, 1}, "shards");
        if (world.is_first()) {
          for (int i = 0; i < 2; ++i) started.push_back(group->start_all_reduce(x, "bucket"));
          group.reset();
        }
        for (const auto& pending : started) try {
            pending->wait();
          } catch (const SystemError& error) {
            texts += std::string(error.what()) + "\n";
          }
        world.barrier("both are here");  // until here the other rank keeps its end open
        return texts;
      },
      30);
  CHECK_THAT(said[0], Contains("all-reduce (sum) 'bucket' of its shards group: given up, because this rank failed"));
  CHECK_THAT(said[0], Contains("an earlier collective of this rank failed"));
  CHECK(said[1].empty());
}

}  // namespace roll
