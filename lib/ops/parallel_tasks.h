// Tasks of unequal size over the threads of at::parallel_for.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>

namespace roll {

/// Calls task(i, scratch) for i in [0, count), each once, by whichever thread is free; every thread makes one
/// `scratch`. Tasks must not write to the same memory, so results do not depend on the order.
template <class MakeScratch, class Task>
void parallel_tasks(int64_t count, const MakeScratch& make_scratch, const Task& task) {
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, std::min<int64_t>(count, at::get_num_threads()), 1, [&](int64_t, int64_t) {
    auto scratch = make_scratch();
    for (int64_t i = next++; i < count; i = next++) task(i, scratch);
  });
}

}  // namespace roll
