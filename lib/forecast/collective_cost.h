// Bytes that one rank sends and receives in a collective, for planned_ranks.h. They match the algorithms of
// transport/host_communicator.cpp and NCCL (transport/device_communicator.cpp). A group of one rank costs nothing.
#pragma once

#include <cstdint>

namespace roll {

/// The rank whose cost is asked for: its group's size, and its index in the group.
struct Member {
  int64_t size = 1, index = 0;
};

/// kHost: host memory over MPI or sockets. kDevice: GPU memory over NCCL.
enum class Path { kHost, kDevice };

/// Cost of a collective for one rank.
struct Cost {
  int64_t sent = 0, received = 0;  // bytes
  int64_t message = 0;             // bytes of the largest message to one other rank

  Cost operator*(int64_t times) const { return {sent * times, received * times, message}; }
};

/// All-reduce of a tensor of `count` elements, each of `element` bytes.
Cost all_reduce_cost(Member member, Path path, int64_t count, int64_t element);
/// Reduce-scatter: each rank passes `total` bytes and gets total / size.
Cost reduce_scatter_cost(Member member, int64_t total);
/// All-gather: each rank passes `local` bytes and gets size * local.
Cost all_gather_cost(Member member, int64_t local);
/// All-gather of byte strings of different lengths: `local` bytes of this rank, `total` of all ranks.
Cost all_gather_bytes_cost(Member member, int64_t local, int64_t total);
/// Broadcast of `bytes` from the group's member with index `root`.
Cost broadcast_cost(Member member, Path path, int64_t bytes, int64_t root);

}  // namespace roll
