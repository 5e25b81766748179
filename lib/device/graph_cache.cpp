#include "device/graph_cache.h"

#include <algorithm>
#include <bit>

namespace roll {

void GraphCache::run(int64_t size, const std::function<void()>& work) {
  if (!recorder_) return work();
  const auto [graph, is_new] = graphs_.try_emplace(size);
  if (is_new) return work();
  if (!graph->second) graph->second = recorder_->record(work);
  graph->second->replay();
}

int64_t GraphCache::padded(int64_t count, int64_t max_size) {
  return std::min(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))), max_size);
}

}  // namespace roll
