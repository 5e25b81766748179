// Cache of CUDA graphs (device_graph.h) for GPU work that comes in a few sizes, such as decode steps over 1, 2, 4, ...
// sequences. The first time, work of a size runs without a graph, because libraries initialize on first use; the second
// time it is recorded and replayed; from then on only replayed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "device/device_graph.h"

namespace roll {

class GraphCache {
 public:
  /// If `recorder` is nullptr (on the CPU), work always runs without graphs.
  explicit GraphCache(std::unique_ptr<GraphRecorder> recorder) : recorder_(std::move(recorder)) {}

  /// Runs `work`, or records and replays it, as said above. All `work` passed with the same `size` must launch the same
  /// kernels on the same memory. Rethrows exceptions of `work`.
  void run(int64_t size, const std::function<void()>& work);
  /// Drops all graphs; no graph may be running. Call it before memory that the work uses is freed or moved.
  void clear() { graphs_.clear(); }

  /// Returns a size for `count` (at least 1) items, so that few sizes occur: the next power of two, at most `max_size`.
  static int64_t padded(int64_t count, int64_t max_size);

 private:
  std::unique_ptr<GraphRecorder> recorder_;
  std::map<int64_t, std::unique_ptr<DeviceGraph>> graphs_;  // null: this size ran once
};

}  // namespace roll
