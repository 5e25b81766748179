// Cache of CUDA graphs for work that comes in a few sizes. A size runs without a graph the first time, because
// libraries initialize on first use; it is recorded the second time and replayed from then on.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "device/device_graph.h"

namespace roll {

class GraphCache {
 public:
  /// Null recorder (e.g. on the CPU): work always runs without graphs.
  explicit GraphCache(std::unique_ptr<GraphRecorder> recorder) : recorder_(std::move(recorder)) {}

  /// Runs `work` or replays its graph. Work of one `size` must launch the same kernels on the same memory each time.
  void run(int64_t size, const std::function<void()>& work);
  /// Drops all graphs. Call it before memory of the work moves, while none of the work is running.
  void clear() { graphs_.clear(); }

  /// Returns the padded size for `count` items: the next power of two, at most `max_size`.
  static int64_t padded(int64_t count, int64_t max_size);

 private:
  std::unique_ptr<GraphRecorder> recorder_;
  std::map<int64_t, std::unique_ptr<DeviceGraph>> graphs_;  // null: this size ran once
};

}  // namespace roll
