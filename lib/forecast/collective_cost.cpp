#include "forecast/collective_cost.h"

#include <algorithm>

#include "transport/wire.h"

namespace roll {

namespace {

constexpr int64_t kPiece_bytes = 64 << 20;  // equals the size in host_communicator.cpp

int64_t piece_of(int64_t bytes) {
  return std::min(bytes, kPiece_bytes);
}

/// Returns the cost of a symmetric collective, in which each rank receives as much as it sends.
Cost both_ways(int64_t bytes, int64_t message) {
  return {bytes, bytes, message};
}

/// All-reduces one piece through host memory. Small pieces go to everyone, in large groups through the first rank;
/// larger ones are reduced in slices, one per rank.
Cost reduce_piece(Member own, int64_t count, int64_t element) {
  const int64_t bytes = count * element;
  if (bytes <= kSmall_bytes)
    return both_ways(own.size > kFewRanks && own.index > 0 ? bytes : (own.size - 1) * bytes, bytes);
  const int64_t width = (count + own.size - 1) / own.size;
  const int64_t begin = std::min(own.index * width, count);
  const int64_t slice = (std::min(begin + width, count) - begin) * element;
  return both_ways(bytes - slice + (own.size - 1) * slice, width * element);
}

}  // namespace

Cost all_reduce_cost(Member own, Path path, int64_t count, int64_t element) {
  if (own.size == 1) return {};
  if (path == Path::kDevice) {
    const int64_t part = 2 * count * element / own.size;
    return both_ways(part * (own.size - 1), count * element / own.size);
  }
  Cost cost;
  const int64_t piece = kPiece_bytes / element;
  for (int64_t at = 0; at < count; at += piece) {
    const Cost one = reduce_piece(own, std::min(piece, count - at), element);
    cost = both_ways(cost.sent + one.sent, std::max(cost.message, one.message));
  }
  return cost;
}

Cost reduce_scatter_cost(Member own, int64_t all) {
  if (own.size == 1) return {};
  return both_ways(all / own.size * (own.size - 1), piece_of(all / own.size));
}

Cost all_gather_cost(Member own, int64_t local) {
  if (own.size == 1) return {};
  return both_ways(local * (own.size - 1), piece_of(local));
}

Cost all_gather_bytes_cost(Member own, int64_t local, int64_t all) {
  if (own.size == 1) return {};
  return {local * (own.size - 1), all - local, piece_of(local)};
}

Cost broadcast_cost(Member own, Path path, int64_t bytes, int64_t root) {
  if (own.size == 1) return {};
  if (own.index != root) return {.received = bytes};
  return {.sent = path == Path::kDevice ? bytes : bytes * (own.size - 1), .message = piece_of(bytes)};
}

}  // namespace roll
