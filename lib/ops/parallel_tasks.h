// Distributes tasks of unequal size over the threads of at::parallel_for; CPU attention uses it.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>

namespace roll {

/// Calls task(i, scratch) once for each i in [0, count), each on the next free thread, and returns when all are done.
/// `scratch`: result of make_scratch(), which each thread calls once. Tasks must not write to the same memory.
template <class MakeScratch, class Task>
void parallel_tasks(int64_t count, const MakeScratch& make_scratch, const Task& task) {
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, std::min<int64_t>(count, at::get_num_threads()), 1, [&](int64_t, int64_t) {
    auto scratch = make_scratch();
    for (int64_t i = next++; i < count; i = next++) task(i, scratch);
  });
}

}  // namespace roll
