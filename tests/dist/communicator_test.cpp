#include "dist/communicator.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <latch>
#include <thread>

#include "base/error.h"
#include "dist/collectives.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "job/ending.h"
#include "job/join.h"
#include "process/stop.h"

using namespace roll;
using test::run_local_ranks;

TEST_CASE("a single process gets back what it gives", "[dist]") {
  const auto one = make_single_communicator();
  CHECK(test::check_collectives(*one, at::kCPU).empty());
  CHECK(one->kind() == "single");
}

TEST_CASE("ranks over sockets reduce, broadcast and gather every dtype and size", "[dist]") {
  for (const int num_ranks : {2, 3, 4})
    for (const auto& wrong :
         run_local_ranks(num_ranks, [](Communicator& ranks) { return test::check_collectives(ranks, at::kCPU); }))
      CHECK(wrong == "");
}

TEST_CASE("sums over ranks are added in rank order and rounded once", "[dist]") {
  for (const int num_ranks : {4, 9})  // 9: small sums are made by the first rank
    for (const auto& wrong : run_local_ranks(num_ranks, test::check_sum_order)) CHECK(wrong == "");
}

TEST_CASE("all ranks hold the same bits of a sum of random numbers", "[dist]") {
  const auto said = run_local_ranks(3, [](Communicator& ranks) {
    at::Tensor tensor = at::sin(at::arange(70001, at::kFloat) * (ranks.rank() + 1.37));
    ranks.all_reduce_sum(tensor, "gradients");
    return std::string(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  });
  CHECK((said[0] == said[1] && said[1] == said[2]));
}

TEST_CASE("a NaN on any rank survives max and min", "[dist]") {
  const auto said = run_local_ranks(3, [](Communicator& ranks) {
    const double local = ranks.rank() == 1 ? std::nan("") : 1.0;
    return fmt::format("{}", std::isnan(ranks.all_reduce_max(local, "largest")));
  });
  for (const auto& text : said) CHECK(text == "true");
}

TEST_CASE("reducing a dtype without a rule is a bug, not a wrong number", "[dist]") {
  const auto one = make_single_communicator();
  at::Tensor flags = at::zeros({2}, at::kBool);
  CHECK_THROWS_WITH(one->all_reduce_sum(flags, "flags"),
                    Catch::Contains("'flags' cannot be reduced: its dtype is Bool"));
}

TEST_CASE("ranks that call different collectives are told who does what", "[dist]") {
  const auto said = run_local_ranks(2, [](Communicator& ranks) {
    ranks.set_step(7);
    at::Tensor tensor = at::ones({2});
    ranks.is_first() ? ranks.all_reduce_sum(tensor, "counts") : ranks.barrier("step end");
    return std::string();
  });
  CHECK_THAT(said[0], Catch::Contains("rank 0 of 2, step 7: ranks diverged") && Catch::Contains("'counts' of 8 bytes"));
  CHECK_THAT(said[0], Catch::Contains("rank 1 in all-gather of bytes 'step end'"));
  CHECK_THAT(said[1], Catch::Contains("ranks diverged"));
}

TEST_CASE("ranks that reduce different shapes, dtypes or names are refused", "[dist]") {
  const auto diverged = [](const std::function<void(Communicator&)>& body) {
    const auto said = run_local_ranks(2, [&](Communicator& ranks) { return body(ranks), std::string(); });
    return said[0].find("ranks diverged") != std::string::npos && said[1].find("ranks diverged") != std::string::npos;
  };
  CHECK(diverged([](Communicator& ranks) {
    at::Tensor tensor = at::ones({5 + ranks.rank()});
    ranks.all_reduce_sum(tensor, "lengths");
  }));
  CHECK(diverged([](Communicator& ranks) {
    at::Tensor tensor = at::ones({8 - 4 * ranks.rank()}, ranks.is_first() ? at::kFloat : at::kDouble);
    ranks.all_reduce_sum(tensor, "dtypes");
  }));
  CHECK(diverged([](Communicator& ranks) { ranks.barrier(ranks.is_first() ? "one" : "two"); }));
  CHECK(diverged([](Communicator& ranks) {
    const at::Tensor local = at::ones({3}), theirs = at::ones({4}), none;
    ranks.is_first() ? ranks.exchange({none, local}, {none, theirs}, "sizes")
                     : ranks.exchange({local, none}, {theirs, none}, "sizes");
  }));
  CHECK(diverged([](Communicator& ranks) {
    at::Tensor tensor = at::ones({5});
    ranks.is_first() ? ranks.all_reduce_sum(tensor, "operations") : ranks.all_reduce_max(tensor, "operations");
  }));
}

TEST_CASE("a rank that does not come is named after the time limit", "[dist]") {
  std::latch all_gave_up(3);  // no rank is gone before
  const auto said = run_local_ranks(
      3,
      [&](Communicator& ranks) {
        ranks.set_step(12);
        std::string text;
        if (ranks.rank() != 1) try {
            ranks.barrier("gradients");
          } catch (const SystemError& error) {
            text = error.what();
          }
        all_gave_up.arrive_and_wait();
        return text;
      },
      0.5);
  for (const size_t rank : {0, 2})
    CHECK_THAT(
        said[rank],
        Catch::Contains("step 12: all-gather of bytes 'gradients': waited 0.50 s and nothing came from rank 1;"));
}

TEST_CASE("ranks whose first rank never opens its store give up in time", "[dist]") {
  CHECK_THROWS_WITH(make_tcp_wire(1, 2, {"127.0.0.1", test::free_port()}, 0.3),
                    Catch::Contains("nothing came from rank 0"));
}

TEST_CASE("sockets are for 128 ranks at most, and more are sent to mpirun", "[dist]") {
  CHECK_THROWS_WITH(make_tcp_wire(127, 128, {"127.0.0.1", test::free_port()}, 0.3),
                    Catch::Contains("nothing came from rank 0"));
  CHECK_THROWS_AS(make_tcp_wire(128, 129, {"127.0.0.1", test::free_port()}, 0.3), UserError);
  CHECK_THROWS_WITH(make_tcp_wire(128, 129, {"127.0.0.1", test::free_port()}, 0.3),
                    Catch::StartsWith("129 ranks were started with RANK and WORLD_SIZE: ") &&
                        Catch::Contains("at most 128 ranks may start like this; start them with mpirun"));
}

TEST_CASE("a rank that is gone is named at once, and the communicator does not work on", "[dist]") {
  const auto said = run_local_ranks(2, [](Communicator& ranks) {
    if (ranks.rank() == 1) return std::string();
    std::string texts;
    for (const char* name : {"weights", "again"}) try {
        ranks.barrier(name);
      } catch (const SystemError& error) {
        texts += std::string(error.what()) + "\n";
      }
    return texts;
  });
  CHECK_THAT(said[0], Catch::Contains("'again': an earlier collective of this rank failed"));
  CHECK_THAT(said[0], Catch::Contains("rank 0 of 2: all-gather of bytes 'weights': rank 1 is gone"));
}

TEST_CASE("a wish to stop does not end a wait for a rank that finishes its step, and all get to know it", "[dist]") {
  const auto said = run_local_ranks(2, [](Communicator& ranks) {
    ranks.barrier("all are here");
    if (ranks.rank() == 0) request_stop(StopKind::kTerminate);
    if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
    ranks.barrier("gradients");
    return std::string(stop_agreed(ranks) == StopKind::kTerminate ? "stops" : "goes on");
  });
  request_stop(std::nullopt);
  CHECK((said[0] == "stops" && said[1] == "stops"));
}

TEST_CASE("the lowest failing rank speaks and all ranks end with its code", "[dist]") {
  const auto said = run_local_ranks(4, [](Communicator& ranks) {
    try {
      agree(ranks, [&] {
        if (ranks.rank() == 1) throw UserError("a.yaml:3: bad");
        if (ranks.rank() == 2) throw SystemError("no disk");
      });
    } catch (const std::exception& error) {
      return fmt::format("{} {}", exit_code_for(error), error.what());
    }
    return std::string("went on");
  });
  CHECK(said[1] == "2 a.yaml:3: bad");
  for (const size_t rank : {0, 2, 3}) CHECK(said[rank] == "2 rank 1 failed and has printed the reason");
  for (const auto& text :
       run_local_ranks(2, [](Communicator& ranks) { return agree(ranks, [] {}), std::string("went on"); }))
    CHECK(text == "went on");
}

TEST_CASE("who has only heard of a failure does not speak for the rank that failed, however deep they agreed",
          "[dist]") {
  const auto said = run_local_ranks(3, [](Communicator& ranks) {
    try {
      agree(ranks, [&] {
        agree(ranks, [&] {
          if (ranks.rank() == 2) throw UserError("a.yaml:3: taken");
        });
      });
    } catch (const std::exception& error) {
      return fmt::format("{} {}", exit_code_for(error), error.what());
    }
    return std::string("went on");
  });
  CHECK(said[2] == "2 a.yaml:3: taken");
  for (const size_t rank : {0, 1}) CHECK(said[rank] == "2 rank 2 failed and has printed the reason");
}

TEST_CASE("exit codes follow the kind of error", "[dist]") {
  CHECK(exit_code_for(UserError("")) == 2);
  CHECK(exit_code_for(SystemError("")) == 1);
  CHECK(exit_code_for(std::runtime_error("")) == 1);
  CHECK(exit_code_for(Bug("")) == 70);
  CHECK(exit_code_for(Stopped(StopKind::kInterrupt)) == 130);
  CHECK(exit_code_for(AnotherRankFailed(3, 70)) == 70);
}

TEST_CASE("what a process says at its end names the kind once and no stack", "[dist]") {
  CHECK(error_line(UserError("a.yaml:1: bad")) == "roll: a.yaml:1: bad");
  CHECK(error_line(UserError("a\x1b[31m\nb")) == "roll: a\\x1b[31m\nb");
  CHECK(error_line(Bug("x")) == "roll: internal error, please report it: x");
  CHECK(error_line(std::runtime_error("shapes differ\nException raised from f at y.cpp:3")) == "roll: shapes differ");
  CHECK(error_line(AnotherRankFailed(3, 2)).empty());
}

TEST_CASE("a transport that the process was not started for is refused", "[dist]") {
  CHECK_THROWS_WITH(make_communicator({.kind = Transport::kMpi, .device = at::kCPU, .timeout_s = 1}),
                    Catch::Contains("communicator = mpi: this process was started for 'single'"));
}
