#include "forecast/collective_cost.h"

#include <algorithm>

#include "transport/wire.h"

namespace roll {

namespace {

constexpr int64_t kPiece_bytes = 64 << 20;  // equals the size in host_communicator.cpp

int64_t largest_piece(int64_t bytes) {
  return std::min(bytes, kPiece_bytes);
}

/// Returns the cost of a symmetric collective, in which each rank receives as much as it sends.
Cost both_ways(int64_t bytes, int64_t message) {
  return {bytes, bytes, message};
}

/// All-reduces one piece through host memory. Small pieces go to everyone, in large groups through the first rank;
/// larger ones are reduced in slices, one per rank.
Cost reduce_piece(Member member, int64_t count, int64_t element) {
  const int64_t bytes = count * element;
  if (bytes <= kSmall_bytes)
    return both_ways(member.size > kFewRanks && member.index > 0 ? bytes : (member.size - 1) * bytes, bytes);
  const int64_t width = (count + member.size - 1) / member.size;
  const int64_t begin = std::min(member.index * width, count);
  const int64_t slice = (std::min(begin + width, count) - begin) * element;
  return both_ways(bytes - slice + (member.size - 1) * slice, width * element);
}

}  // namespace

Cost all_reduce_cost(Member member, Path path, int64_t count, int64_t element) {
  if (member.size == 1) return {};
  if (path == Path::kDevice) {
    const int64_t part = 2 * count * element / member.size;
    return both_ways(part * (member.size - 1), count * element / member.size);
  }
  Cost cost;
  const int64_t piece = kPiece_bytes / element;
  for (int64_t begin = 0; begin < count; begin += piece) {
    const Cost piece_cost = reduce_piece(member, std::min(piece, count - begin), element);
    cost = both_ways(cost.sent + piece_cost.sent, std::max(cost.message, piece_cost.message));
  }
  return cost;
}

Cost reduce_scatter_cost(Member member, int64_t total) {
  if (member.size == 1) return {};
  return both_ways(total / member.size * (member.size - 1), largest_piece(total / member.size));
}

Cost all_gather_cost(Member member, int64_t local) {
  if (member.size == 1) return {};
  return both_ways(local * (member.size - 1), largest_piece(local));
}

Cost all_gather_bytes_cost(Member member, int64_t local, int64_t total) {
  if (member.size == 1) return {};
  return {local * (member.size - 1), total - local, largest_piece(local)};
}

Cost broadcast_cost(Member member, Path path, int64_t bytes, int64_t root) {
  if (member.size == 1) return {};
  if (member.index != root) return {.received = bytes};
  return {.sent = path == Path::kDevice ? bytes : bytes * (member.size - 1), .message = largest_piece(bytes)};
}

}  // namespace roll
