// Graphs without a GPU: what is recorded runs when it is replayed.
#pragma once

#include <utility>

#include "device/device_graph.h"

namespace roll {

struct FakeGraphs {
  int recorded = 0, replayed = 0, alive = 0;

  struct Graph : DeviceGraph {
    Graph(FakeGraphs& o, std::function<void()> w) : owner(o), work(std::move(w)) { ++owner.alive; }
    ~Graph() override { --owner.alive; }
    void replay() override {
      ++owner.replayed;
      work();
    }
    FakeGraphs& owner;
    std::function<void()> work;
  };
  struct Recorder : GraphRecorder {
    explicit Recorder(FakeGraphs& o) : owner(o) {}
    std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) override {
      ++owner.recorded;
      return std::make_unique<Graph>(owner, work);
    }
    FakeGraphs& owner;
  };
  /// Must not outlive this.
  std::unique_ptr<GraphRecorder> recorder() { return std::make_unique<Recorder>(*this); }
};

}  // namespace roll
