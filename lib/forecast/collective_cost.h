// Bytes that a rank sends and receives in each collective, for planned_ranks.h. They match the transports' algorithms
// (transport/host_communicator.cpp, transport/device_communicator.cpp).
#pragma once

#include <cstdint>

namespace roll {

/// Position of a rank in its group.
struct Member {
  int64_t size = 1, index = 0;
};

/// kHost: host memory over MPI or sockets. kDevice: GPU memory over NCCL.
enum class Path { kHost, kDevice };

struct Cost {
  int64_t sent = 0, received = 0;  // bytes
  int64_t message = 0;             // largest message to one other rank, bytes

  Cost operator*(int64_t times) const { return {sent * times, received * times, message}; }
};

/// Returns the cost of reducing `count` elements of `element` bytes on all ranks.
Cost all_reduce_cost(Member member, Path path, int64_t count, int64_t element);
/// Returns the cost of reducing `total` bytes when each rank gets an equal part.
Cost reduce_scatter_cost(Member member, int64_t total);
/// Returns the cost of sending each rank's `local` bytes to all.
Cost all_gather_cost(Member member, int64_t local);
/// Returns the cost of sending byte strings to all: `local` of the group's `total` bytes. Lengths may differ.
Cost all_gather_bytes_cost(Member member, int64_t local, int64_t total);
/// Returns the cost of sending the bytes of member `root` to all.
Cost broadcast_cost(Member member, Path path, int64_t bytes, int64_t root);

}  // namespace roll
