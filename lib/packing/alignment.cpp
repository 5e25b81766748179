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

}  // namespace roll
