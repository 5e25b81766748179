// What a communicator of a device asks of its back-end, which on a GPU is NCCL's: here one that moves the fake device's
// memory between ranks that are threads.
#include "transport/device_communicator.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/collectives.h"
#include "dist/thread_ranks.h"
#include "ops/fake_device.h"

namespace roll {

namespace {

using Tensors = std::vector<at::Tensor>;
using Lines = std::vector<std::string>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

/// Runs when it is waited for.
struct FakeWork : c10d::Work {
  explicit FakeWork(std::function<void()> f) : move(std::move(f)) {}
  bool isCompleted() override { return is_done; }
  bool wait(std::chrono::milliseconds) override {
    if (!std::exchange(is_done, true)) move();
    return true;
  }
  std::function<void()> move;
  bool is_done = false;
};

Tensors memory_of_all(const Tensors& tensors) {
  Tensors memory;
  for (const at::Tensor& tensor : tensors) memory.push_back(test::memory_of(tensor));
  return memory;
}

struct FakeBackend : c10d::Backend {
  FakeBackend(Communicator& o, std::vector<std::string>& l) : Backend(o.rank(), o.size()), ranks(o), log(l) {}
  const std::string getBackendName() const override { return "fake"; }
  void shutdown() override { log.push_back("shutdown"); }

  WorkPointer later(const std::string& call, std::function<void()> move) {
    log.push_back(call);
    TORCH_CHECK(call != failing || fails_late, "remote rank is gone");
    if (call == failing) move = [] { TORCH_CHECK(false, "watchdog: too late"); };
    return c10::make_intrusive<FakeWork>(std::move(move));
  }
  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const bool sums = options.reduceOp == c10d::ReduceOp::SUM, most = options.reduceOp == c10d::ReduceOp::MAX;
    const Reduce op = sums ? Reduce::kSum : most ? Reduce::kMax : Reduce::kMin;
    return later(sums   ? "sum"
                 : most ? "max"
                        : "min",
                 [this, x = test::memory_of(tensors.at(0)), op]() mutable { ranks.all_reduce(x, op, "fake"); });
  }
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return later(fmt::format("broadcast from {}", options.rootRank),
                 [this, x = test::memory_of(tensors.at(0)), root = static_cast<int>(options.rootRank)]() mutable {
                   ranks.broadcast(x, root, "fake");
                 });
  }
  WorkPointer _allgather_base(at::Tensor& all, at::Tensor& local, const c10d::AllgatherOptions&) override {
    return later("all-gather", [this, to = test::memory_of(all), from = test::memory_of(local)] {
      to.copy_(ranks.all_gather_rows(from, "fake"));
    });
  }
  WorkPointer _reduce_scatter_base(at::Tensor& local, at::Tensor& all, const c10d::ReduceScatterOptions&) override {
    return later("reduce-scatter", [this, to = test::memory_of(local), from = test::memory_of(all)] {
      to.copy_(ranks.reduce_scatter_rows(from, "fake"));
    });
  }
  WorkPointer alltoall_base(at::Tensor& in, at::Tensor& out, std::vector<int64_t>& in_sizes,
                            std::vector<int64_t>& out_sizes, const c10d::AllToAllOptions&) override {
    TORCH_CHECK(in_sizes.empty() && out_sizes.empty(), "blocks are equal");
    return later("all-to-all of blocks", [this, to = test::memory_of(in), from = test::memory_of(out)] {
      ranks.start_all_to_all(from, to, "fake")->wait();
    });
  }
  WorkPointer alltoall(Tensors& in, Tensors& out, const c10d::AllToAllOptions&) override {
    TORCH_CHECK(in[getRank()].numel() + out[getRank()].numel() == 0, "a rank's own part needs no message");
    for (const at::Tensor& x : out) TORCH_CHECK(x.scalar_type() == at::kByte && !x.is_cpu(), "bytes of the device");
    return later("all-to-all",
                 [this, to = memory_of_all(in), from = memory_of_all(out)] { ranks.exchange(from, to, "fake"); });
  }

  Communicator& ranks;
  std::vector<std::string>& log;  // what was called
  std::string failing;
  bool fails_late = false;
};

struct FakeRank {
  Communicator& ranks;
  std::vector<std::string>& log;  // of the rank's back-ends
  FakeBackend& backend;           // of all ranks

  std::vector<std::string> take_log() const { return std::exchange(log, {}); }
};

/// What each rank said, over back-ends that are fakes.
std::vector<std::string> said_by(int num_ranks, const std::function<std::string(const FakeRank&)>& body) {
  std::vector<std::string> said(static_cast<size_t>(num_ranks));
  test::fake_device();
  run_thread_ranks(num_ranks, [&](Communicator& world) {
    std::vector<std::string> log;
    FakeBackend* first = nullptr;
    std::vector<int> all(static_cast<size_t>(num_ranks));
    for (int rank = 0; rank < num_ranks; ++rank) all[rank] = rank;
    auto ranks = make_device_communicator(world.split(all, "all"), test::fake_device(), [&](Communicator& host) {
      auto backend = c10::make_intrusive<FakeBackend>(host, log);
      if (!first) first = backend.get();
      return c10::intrusive_ptr<c10d::Backend>(std::move(backend));
    });
    std::string& local = said[static_cast<size_t>(world.rank())];
    if (std::exchange(log, {}) != Lines{"sum"}) local = "not connected at once; ";
    local += body({*ranks, log, *first});
    log.clear();
    ranks.reset();
    local += log == Lines{"shutdown"} ? "" : " not ended politely";
  });
  return said;
}

at::Tensor on_fake(const at::Tensor& x) {
  return x.to(test::fake_device());
}

/// "" where `found` is `expected`.
std::string unless(const Lines& found, const Lines& expected) {
  return found == expected ? ""
                           : fmt::format("[{}] instead of [{}]; ", fmt::join(found, ", "), fmt::join(expected, ", "));
}

}  // namespace

TEST_CASE("a device's ranks reduce, broadcast, gather and exchange as any others, over their back-end", "[dist]") {
  const auto said = said_by(2, [](const FakeRank& rank) {
    const std::string wrong = test::check_collectives(rank.ranks, test::fake_device());
    return wrong + (rank.log.empty() ? "the back-end was not asked; " : "");
  });
  CHECK(said == Lines(2));
}

TEST_CASE("a device's ranks leave tensors of the host to the host, with which they share their step", "[dist]") {
  const auto said = said_by(3, [](const FakeRank& rank) {
    Communicator& ranks = rank.ranks;
    at::Tensor x = at::ones({6});
    ranks.all_reduce_sum(x, "x");
    ranks.broadcast(x, 2, "x");
    const at::Tensor rows = ranks.all_gather_rows(x, "x"), own = ranks.reduce_scatter_rows(rows, "x");
    const at::Tensor swapped = at::zeros_like(own.contiguous().view({-1}));
    ranks.start_all_to_all(own, swapped, "x")->wait();
    Tensors out(3, swapped), in;
    for (int peer = 0; peer < 3; ++peer) in.push_back(at::zeros_like(swapped));
    ranks.exchange(out, in, "x");
    std::string wrong = rows.eq(3).all().item<bool>() && in[0].eq(9).all().item<bool>() ? "" : "a number is wrong; ";
    if (&ranks.traffic() != &rank.backend.ranks.traffic()) wrong += "the host has a step of its own; ";
    return wrong + unless(rank.log, {});
  });
  CHECK(said == Lines(3));
}

TEST_CASE("each collective of a device is one call, narrow sums two of which none rounds", "[dist]") {
  const auto said = said_by(3, [](const FakeRank& rank) {
    Communicator& ranks = rank.ranks;
    const bool is_first = ranks.is_first();
    std::string wrong;
    const auto expect = [&](const char* operation, int64_t bytes, const Lines& calls) {
      wrong += unless(rank.take_log(), calls);
      int64_t counted = 0;
      for (const auto& [key, sent] : ranks.traffic().take())
        if (key.ends_with(operation)) counted += sent.bytes;
      if (counted != bytes) wrong += fmt::format("{} of {} bytes counts as {}; ", operation, bytes, counted);
    };
    at::Tensor wide = on_fake(at::ones({6}, at::kFloat)), narrow = on_fake(at::ones({6}, at::kBFloat16));
    ranks.traffic().take();
    ranks.all_reduce_sum(wide, "x"), expect("all_reduce", 2 * 16, {"sum"});
    ranks.all_reduce_max(wide, "x"), expect("all_reduce", 2 * 16, {"max"});
    ranks.all_reduce_min(narrow, "x"), expect("all_reduce", 2 * 8, {"min"});
    ranks.all_reduce_sum(narrow, "x"), expect("all_reduce", 2 * 8, {"all-to-all of blocks", "all-gather"});
    ranks.broadcast(wide, 1, "x"), expect("broadcast", ranks.rank() == 1 ? 24 : 0, {"broadcast from 1"});
    ranks.all_gather(wide, "x"), expect("all_gather", 48, {"all-gather"});
    ranks.reduce_scatter_rows(wide, "x"), expect("reduce_scatter", 16, {"reduce-scatter"});
    ranks.reduce_scatter_rows(narrow, "x"), expect("reduce_scatter", 8, {"all-to-all of blocks"});
    ranks.start_all_to_all(wide, at::zeros_like(wide), "x")->wait();
    expect("all_to_all", 16, {"all-to-all of blocks"});
    Tensors out(3), in(3);
    if (ranks.rank() == 2) out[2] = at::empty({0}, wide.options());  // it has none to send or receive
    if (is_first) out[0] = out[1] = wide, in[0] = at::zeros_like(wide);
    if (ranks.rank() == 1) in[0] = at::zeros_like(wide);
    ranks.exchange(out, in, "x"), expect("all_to_all", is_first ? 24 : 0, {"all-to-all"});
    ranks.exchange(Tensors(3), Tensors(3), "x"), expect("all_to_all", 0, {});
    const float large = 256;  // 256 + 1 is 256 in bfloat16, and 256 + 1 + 1 is not
    narrow = on_fake(at::full({4}, is_first ? large : 1.0F, at::kBFloat16));
    ranks.all_reduce_sum(narrow, "x");
    if (!(narrow.cpu() == large + 2).all().item<bool>()) wrong += "a narrow sum is rounded on its way; ";
    return wrong;
  });
  CHECK(said == Lines(3));
}

TEST_CASE("what is started on a device is asked for at once, and there when it was waited for", "[dist]") {
  const auto said = said_by(2, [](const FakeRank& rank) {
    Communicator& ranks = rank.ranks;
    const at::Tensor wide = on_fake(at::ones({4})), narrow = on_fake(at::ones({4}, at::kHalf));
    const auto first = ranks.start_all_reduce(wide, "x"), second = ranks.start_all_reduce(narrow, "y");
    std::string wrong = unless(rank.take_log(), {"sum", "all-to-all of blocks"});
    const auto sum_of = [](const at::Tensor& x) { return test::memory_of(x).to(at::kFloat).sum().item<float>(); };
    if (first->is_done() || second->is_done() || sum_of(wide) + sum_of(narrow) != 8) wrong += "a start waits; ";
    first->wait();
    if (!first->is_done() || sum_of(wide) != 8 || sum_of(narrow) != 4) wrong += "the first is not there, or both; ";
    second->wait();
    if (!second->is_done() || sum_of(narrow) != 8) wrong += "the second is not there; ";
    if (first->begin_s() > first->end_s() || first->end_s() > second->end_s()) wrong += "times; ";
    return wrong + unless(rank.take_log(), {"all-gather"});
  });
  CHECK(said == Lines(2));
}

TEST_CASE("groups of a device's ranks have back-ends of their own, which end politely where nothing went wrong",
          "[dist]") {
  const auto said = said_by(4, [](const FakeRank& rank) {
    Communicator& world = rank.ranks;
    const int local = world.rank() / 2 * 2;
    std::string found;
    {
      const auto pair = world.split({local, local + 1}, "dp");
      const auto alone = pair->split({pair->rank()}, "tp");
      at::Tensor number = on_fake(at::ones({1}));
      pair->all_reduce_sum(number, "x");
      found = fmt::format("{} {} {} of {} {} {}", pair->kind(), pair->group(), pair->rank(), pair->size(),
                          number.item<float>(), alone->kind());
    }
    return found + fmt::format(" {}", fmt::join(rank.take_log(), " "));
  });
  CHECK(said == Lines{"fake dp 0 of 2 2 single sum sum shutdown", "fake dp 1 of 2 2 single sum sum shutdown",
                      "fake dp 0 of 2 2 single sum sum shutdown", "fake dp 1 of 2 2 single sum sum shutdown"});
}

TEST_CASE("what a back-end cannot do is an error with rank, step, collective and group, and it is left as it is",
          "[dist]") {
  const bool late = GENERATE(false, true);
  const auto said = said_by(2, [late](const FakeRank& rank) {
    rank.ranks.set_step(7);
    std::string found;
    {
      const auto group = rank.ranks.split({0, 1}, "tp");
      rank.take_log();
      rank.backend.failing = "sum", rank.backend.fails_late = late;
      at::Tensor x = on_fake(at::ones({2}));
      try {
        rank.ranks.start_all_reduce(x, "activations")->wait();
      } catch (const SystemError& error) {
        found = error.what();
      }
      group->all_reduce_sum(x, "of another back-end");
    }
    rank.ranks.all_reduce_max(rank.ranks.rank() + 0.5, "over the host");
    return found + fmt::format(" | {}", fmt::join(rank.take_log(), " "));
  });
  const std::string why = late ? "watchdog: too late" : "remote rank is gone";
  for (int rank = 0; rank < 2; ++rank)
    CHECK(said[rank] == fmt::format("rank {} of 2, step 7: all-reduce 'activations' of its world group over fake "
                                    "failed: {} | sum sum shutdown not ended politely",
                                    rank, why));
}

TEST_CASE("a back-end whose first sum is wrong ends the run at its start", "[dist]") {
  struct Idle : FakeBackend {
    using FakeBackend::FakeBackend;
    WorkPointer allreduce(Tensors&, const c10d::AllreduceOptions&) override {
      return later("sum", [] {});
    }
  };
  test::fake_device();
  Lines said(2);
  run_thread_ranks(2, [&](Communicator& world) {
    Lines log;
    try {
      make_device_communicator(world.split({0, 1}, "all"), test::fake_device(),
                               [&](Communicator& host) { return c10::make_intrusive<Idle>(host, log); });
    } catch (const SystemError& error) {
      said[static_cast<size_t>(world.rank())] = error.what();
    }
  });
  for (int rank = 0; rank < 2; ++rank)
    CHECK(said[rank] ==
          fmt::format("rank {} of 2: the first all-reduce of its world group over fake gives 1 of 2 ranks", rank));
}

}  // namespace roll
