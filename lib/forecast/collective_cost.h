// What each collective makes a rank send and get, as the transports count it (transport/host_communicator.cpp,
// transport/device_communicator.cpp): the only place that says so.
#pragma once

#include <cstdint>

namespace roll {

/// A rank in a group of ranks.
struct Member {
  int64_t size = 1, index = 0;
};

/// kHost: what is in host memory goes over MPI or sockets. kDevice: what is on GPUs goes over NCCL.
enum class Path { kHost, kDevice };

struct Cost {
  int64_t sent = 0, received = 0;  // bytes
  int64_t message = 0;             // of what is sent, to one other rank without a break

  Cost operator*(int64_t times) const { return {sent * times, received * times, message}; }
};

/// `count` elements of `element` bytes, reduced on all.
Cost all_reduce_cost(Member own, Path path, int64_t count, int64_t element);
/// `all` bytes, reduced, of which each rank gets an equal part.
Cost reduce_scatter_cost(Member own, int64_t all);
/// Each rank's `mine` bytes to all.
Cost all_gather_cost(Member own, int64_t mine);
/// Byte strings of any lengths to all: `mine` of the `all` bytes of the group.
Cost all_gather_bytes_cost(Member own, int64_t mine, int64_t all);
/// The bytes of member `root`.
Cost broadcast_cost(Member own, Path path, int64_t bytes, int64_t root);

}  // namespace roll
