#include "dist/thread_ranks.h"

#include <ATen/ATen.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "base/error.h"
#include "dist/collectives.h"

namespace roll {

namespace {

/// What each rank said.
std::vector<std::string> said_by(int num_ranks, const std::function<std::string(Communicator&)>& body) {
  std::vector<std::string> said(static_cast<size_t>(num_ranks));
  run_thread_ranks(num_ranks, [&](Communicator& ranks) { said[static_cast<size_t>(ranks.rank())] = body(ranks); });
  return said;
}

}  // namespace

TEST_CASE("ranks that are threads reduce, broadcast, gather and exchange as any others", "[dist]") {
  const auto said = said_by(3, [](Communicator& ranks) { return test::check_collectives(ranks, at::kCPU); });
  CHECK(said == std::vector<std::string>(3));
  for (const int num_ranks : {4, 9})
    CHECK(said_by(num_ranks, test::check_sum_order) == std::vector<std::string>(static_cast<size_t>(num_ranks)));
}

TEST_CASE("groups of ranks that are threads have collectives of their own, and one alone is single", "[dist]") {
  const auto said = said_by(4, [](Communicator& world) {
    const int rank = world.rank();
    const auto halves = world.split({rank / 2 * 2, rank / 2 * 2 + 1}, "dp");
    const auto alone = halves->split({halves->rank()}, "tp");
    // The second half has ended its collectives before the first begins.
    if (rank < 2) world.barrier("halves");
    const int64_t sum = halves->all_reduce_sum(int64_t{rank}, "half");
    if (rank >= 2) world.barrier("halves");
    return fmt::format("{} {} {} {}", halves->rank(), halves->kind(), sum, alone->kind());
  });
  CHECK(said == std::vector<std::string>{"0 threads 1 single", "1 threads 1 single", "0 threads 5 single",
                                         "1 threads 5 single"});
  run_thread_ranks(1, [](Communicator& ranks) { CHECK(ranks.kind() == "single"); });
}

TEST_CASE("ranks that are threads work one at a time", "[dist]") {
  std::atomic<int> working = 0;
  const auto said = said_by(3, [&](Communicator& ranks) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      if (++working != 1) text = "two at once";
      std::this_thread::yield();
      --working;
      ranks.barrier("next");
    }
    return text;
  });
  CHECK(said == std::vector<std::string>(3));
}

TEST_CASE("a rank that fails ends the others where they wait, and is the one that is heard", "[dist]") {
  for (const int failing : {0, 1, 2}) {
    const auto body = [failing](Communicator& ranks) {
      ranks.barrier("all are here");
      if (ranks.rank() == failing) throw user_error("rank {} cannot", failing);
      ranks.barrier("never");
    };
    CHECK_THROWS_WITH(run_thread_ranks(3, body), fmt::format("rank {} cannot", failing));
    CHECK_THROWS_AS(run_thread_ranks(3, body), UserError);
  }
}

TEST_CASE("what a rank gave that has left by another's error, nobody reads", "[dist]") {
  std::atomic<int> num_split = 0;
  std::atomic<bool> has_left = false, has_ended = false, has_heard = false, has_read = false;
  const auto wait_for = [](const auto& condition) {
    while (!condition()) std::this_thread::yield();
  };
  const auto body = [&](Communicator& world) {
    const auto pair = world.split(world.rank() < 2 ? std::vector<int>{0, 1} : std::vector<int>{2}, "pair");
    ++num_split;
    wait_for([&] { return num_split == 3; });
    if (world.rank() == 2) throw user_error("rank 2 cannot");
    at::Tensor tensor = at::full({4}, 1 - world.rank());
    if (world.rank() == 0) {
      CHECK_THROWS_AS(pair->broadcast(tensor, 0, "of two"), SystemError);
      has_left = true;
      return wait_for([&] { return has_ended.load(); });
    }
    wait_for([&] { return has_left.load(); });
    try {
      pair->broadcast(tensor, 0, "of two");
    } catch (const SystemError&) {
      has_heard = true;
    } catch (const std::exception&) {
    }
    has_read = at::any(tensor).item<bool>();
    has_ended = true;
  };
  CHECK_THROWS_WITH(run_thread_ranks(3, body, ThreadPace::kTogether), "rank 2 cannot");
  CHECK(has_heard);
  CHECK_FALSE(has_read);
}

TEST_CASE("many ranks may fail at once, wherever the others are", "[dist]") {
  for (int failing = 0; failing < 48; ++failing) {
    std::atomic<int> num_failed = 0;
    const auto body = [&](Communicator& world) {
      const int number = world.rank();
      const auto fail_at = [&](int stage) {
        if (failing / 12 == stage && number % 12 == failing % 12) throw user_error("{} at {}", ++num_failed, stage);
      };
      fail_at(0);
      const auto group = world.split({number / 4 * 4, number / 4 * 4 + 1, number / 4 * 4 + 2, number / 4 * 4 + 3}, "g");
      fail_at(1);
      at::Tensor tensor = at::ones({100});
      group->all_reduce_sum(tensor, "sum");
      fail_at(2);
      // Named otherwise by one, which is an error in the midst of a collective.
      group->all_gather_bytes(std::string(1000, 'x'), failing / 12 == 3 && number == failing % 12 ? "one" : "other");
      world.barrier("end");
    };
    if (failing / 12 == 3)
      CHECK_THROWS_AS(run_thread_ranks(24, body, ThreadPace::kTogether), Bug);
    else
      CHECK_THROWS_AS(run_thread_ranks(24, body, ThreadPace::kTogether), UserError);
  }
}

TEST_CASE("ranks that diverged are a bug, not a wrong sum and not a wait without end", "[dist]") {
  const auto diverged = [](const std::function<void(Communicator&)>& body) {
    CHECK_THROWS_AS(run_thread_ranks(3, body), Bug);
  };
  diverged([](Communicator& ranks) { ranks.barrier(ranks.is_first() ? "one" : "two"); });
  diverged([](Communicator& ranks) {
    at::Tensor tensor = at::ones({4 + ranks.rank()});
    ranks.all_reduce_sum(tensor, "sizes");
  });
  diverged([](Communicator& ranks) {
    at::Tensor tensor = at::ones({4});
    ranks.is_first() ? ranks.all_reduce_sum(tensor, "operation") : ranks.all_reduce_max(tensor, "operation");
  });
  diverged([](Communicator& ranks) {
    const at::Tensor none;
    std::vector<at::Tensor> out(3), in(3);
    if (ranks.rank() == 0) out[1] = at::ones({3});
    if (ranks.rank() == 1) in[0] = at::ones({4});
    ranks.exchange(out, in, "sizes");
  });
  for (int i = 0; i < 30; ++i)  // one ends before the others wait for it, or after
    diverged([i](Communicator& ranks) {
      if (ranks.rank() != i % 3) ranks.barrier("without one");
    });
  diverged([](Communicator& ranks) {  // all wait
    const auto group = ranks.split(ranks.rank() < 2 ? std::vector<int>{0, 1} : std::vector<int>{2}, "two");
    ranks.is_first() ? group->barrier("in the group") : ranks.barrier("in the world");
  });
}

}  // namespace roll
