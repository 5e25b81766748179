#include "packing/alignment.h"

#include <numeric>

#include "base/error.h"

namespace roll {

int64_t sequence_alignment(int64_t context_parallel, int64_t tensor_parallel, int64_t kernel_multiple) {
  ROLL_CHECK(context_parallel >= 1 && tensor_parallel >= 1 && kernel_multiple >= 1, "parallel sizes start at 1");
  const int64_t layout = context_parallel > 1 ? 2 * context_parallel * tensor_parallel : tensor_parallel;
  return std::lcm(layout, kernel_multiple);
}

int64_t aligned_length(int64_t length, int64_t alignment) {
  return (length + alignment - 1) / alignment * alignment;
}

std::vector<int64_t> aligned_lengths(const std::vector<int64_t>& lengths, int64_t alignment) {
  std::vector<int64_t> aligned;
  aligned.reserve(lengths.size());
  for (const int64_t length : lengths) aligned.push_back(aligned_length(length, alignment));
  return aligned;
}

std::vector<int64_t> cumulative(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> sums{0};
  sums.reserve(lengths.size() + 1);
  for (const int64_t length : lengths) sums.push_back(sums.back() + length);
  return sums;
}

std::vector<int64_t> context_parallel_slots(const std::vector<int64_t>& lengths, int64_t alignment,
                                            int64_t context_parallel, int64_t rank) {
  const int64_t num_chunks = context_parallel > 1 ? 2 * context_parallel : 1;
  ROLL_CHECK_EQ(alignment % num_chunks, 0, "every sequence is cut into equal chunks");
  std::vector<int64_t> slots;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const int64_t chunk_size = aligned_length(length, alignment) / num_chunks;
    const auto add_chunk = [&](int64_t chunk) {
      for (int64_t t = chunk * chunk_size; t < (chunk + 1) * chunk_size; ++t)
        slots.push_back(t < length ? begin + t : -1);
    };
    add_chunk(rank);
    if (num_chunks > 1) add_chunk(num_chunks - 1 - rank);
    begin += length;
  }
  return slots;
}

std::vector<int64_t> context_parallel_places(const std::vector<int64_t>& lengths, int64_t alignment,
                                             int64_t context_parallel) {
  std::vector<int64_t> places(static_cast<size_t>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0})), -1);
  int64_t place = 0;
  for (int64_t rank = 0; rank < context_parallel; ++rank)
    for (const int64_t token : context_parallel_slots(lengths, alignment, context_parallel, rank)) {
      if (token >= 0) places[token] = place;
      ++place;
    }
  return places;
}

}  // namespace roll
