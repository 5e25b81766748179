// Bytes of the CPU allocator, as long as a guard lives.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

namespace roll::test {

class Allocated {
 public:
  /// What this thread, and autograd for it, allocated and did not free; and the most of it since the last call.
  int64_t live() const { return counts_->live; }
  int64_t take_peak() { return std::exchange(counts_->peak, counts_->live); }

 private:
  struct Counts : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) override {
      live += size;
      peak = std::max(peak, live);
    }
    bool memoryProfilingEnabled() const override { return true; }
    int64_t live = 0, peak = 0;
  };

  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counts_};
};

}  // namespace roll::test
