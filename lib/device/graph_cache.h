// Cache of CUDA graphs (device_graph.h) for GPU work that comes in a few sizes, such as decode steps over 1, 2, 4, ...
// sequences. The first call of run() with a size runs the work without a graph, because libraries initialize on first
// use. The second call records and replays it; later calls only replay. Used by rollout/device_steps.h.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "device/device_graph.h"

namespace roll {

class GraphCache {
 public:
  /// `recorder`: make_graph_recorder(); nullptr, as on the CPU: work always runs without graphs.
  explicit GraphCache(std::unique_ptr<GraphRecorder> recorder) : recorder_(std::move(recorder)) {}

  /// Runs `work`, or the graph recorded for `size`; does not wait for the GPU. All `work` passed with the same `size`
  /// must launch the same kernels on the same memory. Rethrows exceptions of `work`.
  void run(int64_t size, const std::function<void()>& work);
  /// Drops all graphs, so that the next run() of each size counts as its first; no graph may be running. Call it before
  /// memory that the work uses is freed or moved.
  void clear() { graphs_.clear(); }

  /// Returns a size for `count` (at least 1) items, so that few sizes occur: the next power of two, at most `max_size`.
  static int64_t padded(int64_t count, int64_t max_size);

 private:
  std::unique_ptr<GraphRecorder> recorder_;
  std::map<int64_t, std::unique_ptr<DeviceGraph>> graphs_;  // null: this size ran once
};

}  // namespace roll
