// Several data-parallel ranks as threads of this process, whose all-reduce adds in rank order.
#pragma once

#include <ATen/ATen.h>

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "experience/moments.h"

namespace roll::testing {

/// Runs `body(rank, all_reduce)` on every rank at once.
inline void on_ranks(int num_ranks, const std::function<void(int, const AllReduce&)>& body) {
  std::vector<at::Tensor> parts(num_ranks);
  std::barrier meet(num_ranks);
  const auto run = [&](int rank) {
    body(rank, [&, rank](at::Tensor& tensor) {
      parts[rank] = tensor.clone();
      meet.arrive_and_wait();
      at::Tensor sum = parts[0].clone();
      for (int other = 1; other < num_ranks; ++other) sum += parts[other];
      meet.arrive_and_wait();
      tensor.copy_(sum);
    });
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace roll::testing
