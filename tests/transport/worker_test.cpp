#include "transport/worker.h"

#include <catch2/catch.hpp>
#include <future>
#include <numeric>

#include "base/clock.h"

namespace roll {

TEST_CASE("a worker runs all that it is given, in order, before it goes", "[dist]") {
  std::vector<int> seen, expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  {
    Worker worker;
    for (const int i : expected) worker.run([&seen, i] { seen.push_back(i); });
  }
  CHECK(seen == expected);
}

TEST_CASE("wait() throws what the work threw, and what comes after it runs", "[dist]") {
  Worker worker;
  const auto failed = worker.run([] { throw std::runtime_error("no peer"); });
  bool ran = false;
  const auto next = worker.run([&] { ran = true; });
  CHECK_THROWS_WITH(failed->wait(), "no peer");
  next->wait();
  CHECK(ran);
}

TEST_CASE("work is timed, one after the other", "[dist]") {
  Worker worker;
  const double before_s = monotonic_s();
  const auto first = worker.run([] {}), second = worker.run([] {});
  first->wait(), second->wait();
  CHECK(before_s <= first->begin_s());
  CHECK(first->begin_s() <= first->end_s());
  CHECK(first->end_s() <= second->begin_s());
  CHECK(second->end_s() <= monotonic_s());
}

TEST_CASE("a worker is busy while something waits or runs", "[dist]") {
  Worker worker;
  CHECK_FALSE(worker.is_busy());
  std::promise<void> begun, gate;
  const auto pending = worker.run([&] { begun.set_value(), gate.get_future().wait(); });
  begun.get_future().wait();
  CHECK(worker.is_busy());  // runs
  const auto queued = worker.run([] {});
  gate.set_value();
  queued->wait();
  const double limit_s = monotonic_s() + 20;
  while (worker.is_busy() && monotonic_s() < limit_s) std::this_thread::yield();
  CHECK_FALSE(worker.is_busy());
}

}  // namespace roll
