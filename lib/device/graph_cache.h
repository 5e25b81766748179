// Graphs of work that comes in a few sizes. Each size runs as it is the first time, as libraries make ready for what
// they see first, is recorded the second time and replayed from then on.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "device/device_graph.h"

namespace roll {

class GraphCache {
 public:
  /// Without a recorder, as on the CPU, work always runs as it is.
  explicit GraphCache(std::unique_ptr<GraphRecorder> recorder) : recorder_(std::move(recorder)) {}

  /// Work of one `size` launches the same kernels on the same memory each time.
  void run(int64_t size, const std::function<void()>& work);
  /// To be called before memory of the work moves, and when nothing of it is under way.
  void clear() { graphs_.clear(); }

  /// The size under which `count` things are computed, so that there are few: the next power of two, but not above
  /// `most`.
  static int64_t padded(int64_t count, int64_t most);

 private:
  std::unique_ptr<GraphRecorder> recorder_;
  std::map<int64_t, std::unique_ptr<DeviceGraph>> graphs_;  // null: this size ran once
};

}  // namespace roll
