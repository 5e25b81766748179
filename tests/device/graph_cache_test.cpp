#include "device/graph_cache.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "base/error.h"
#include "device/fake_recorder.h"

namespace roll {

TEST_CASE("a size runs as it is once, is recorded once, and is replayed from then on", "[device]") {
  FakeGraphs graphs;
  GraphCache cache(graphs.recorder());
  int runs = 0;
  const auto step = [&](int64_t size) { cache.run(size, [&] { ++runs; }); };
  step(4);
  CHECK((graphs.recorded == 0 && graphs.replayed == 0 && runs == 1));
  step(4);
  CHECK((graphs.recorded == 1 && graphs.replayed == 1 && runs == 2));
  step(4), step(4);
  CHECK((graphs.recorded == 1 && graphs.replayed == 3 && runs == 4));
  step(8);
  CHECK((graphs.recorded == 1 && graphs.replayed == 3 && runs == 5));
  step(8), step(4);
  CHECK((graphs.recorded == 2 && graphs.replayed == 5 && graphs.alive == 2));
}

TEST_CASE("a cache of graphs that was cleared begins anew", "[device]") {
  FakeGraphs graphs;
  GraphCache cache(graphs.recorder());
  for (int i = 0; i < 3; ++i) cache.run(1, [] {});
  cache.clear();
  CHECK(graphs.alive == 0);
  cache.run(1, [] {});
  CHECK((graphs.recorded == 1 && graphs.replayed == 2));
  cache.run(1, [] {});
  CHECK((graphs.recorded == 2 && graphs.replayed == 3));
}

TEST_CASE("without a recorder work always runs as it is", "[device]") {
  GraphCache cache(nullptr);
  int runs = 0;
  for (int i = 0; i < 3; ++i) cache.run(1, [&] { ++runs; });
  CHECK(runs == 3);
}

TEST_CASE("work that fails while it is recorded is recorded the next time", "[device]") {
  struct Failing : GraphRecorder {
    explicit Failing(FakeGraphs& o) : owner(o) {}
    std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) override {
      if (fails-- > 0) throw SystemError("a kernel");
      return FakeGraphs::Recorder(owner).record(work);
    }
    FakeGraphs& owner;
    int fails = 1;
  };
  FakeGraphs graphs;
  GraphCache cache(std::make_unique<Failing>(graphs));
  cache.run(2, [] {});
  CHECK_THROWS_WITH(cache.run(2, [] {}), "a kernel");
  cache.run(2, [] {});
  CHECK((graphs.recorded == 1 && graphs.replayed == 1));
}

TEST_CASE("sizes are padded to powers of two, but not above the most there can be", "[device]") {
  for (const auto& [count, most, padded] : {std::tuple<int64_t, int64_t, int64_t>{1, 6, 1},
                                            {2, 6, 2},
                                            {3, 6, 4},
                                            {4, 6, 4},
                                            {5, 6, 6},
                                            {6, 6, 6},
                                            {5, 64, 8}})
    CHECK(GraphCache::padded(count, most) == padded);
}

}  // namespace roll
