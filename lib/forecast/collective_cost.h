// Computes the bytes that one rank sends and receives in a collective, for planned_ranks.h. The formulae follow the
// algorithms of transport/host_communicator.cpp and NCCL (transport/device_communicator.cpp). In a group of one rank,
// every cost is 0. `member` is the rank in question, `path` the memory of its tensors.
#pragma once

#include <cstdint>

namespace roll {

/// A rank in a group: number of the group's ranks, and its index there.
struct Member {
  int64_t size = 1, index = 0;
};

/// Memory and transport of a collective. kHost: host memory over MPI or sockets; kDevice: GPU memory over NCCL.
enum class Path { kHost, kDevice };

/// Cost of a collective for one rank.
struct Cost {
  int64_t sent = 0, received = 0;  // bytes
  int64_t message = 0;             // bytes of the largest message to one other rank

  /// Returns the cost of `times` equal collectives.
  Cost operator*(int64_t times) const { return {sent * times, received * times, message}; }
};

/// Returns the cost of an all-reduce of a tensor of `count` elements, each of `element` bytes.
Cost all_reduce_cost(Member member, Path path, int64_t count, int64_t element);
/// Returns the cost of a reduce-scatter, where each rank passes `total` bytes and gets total / size.
Cost reduce_scatter_cost(Member member, int64_t total);
/// Returns the cost of an all-gather, where each rank passes `local` bytes and gets size * local.
Cost all_gather_cost(Member member, int64_t local);
/// Returns the cost of an all-gather of byte strings of different lengths: `local` bytes of this rank, `total` of all
/// ranks together.
Cost all_gather_bytes_cost(Member member, int64_t local, int64_t total);
/// Returns the cost of a broadcast of `bytes` bytes from the rank with index `root`.
Cost broadcast_cost(Member member, Path path, int64_t bytes, int64_t root);

}  // namespace roll
