// Splitting work evenly: the largest differencing method of Karmarkar and Karp (1982) for k parts. Deterministic.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace roll {

/// Index lists; each index once, ascending within a part.
using Partition = std::vector<std::vector<int64_t>>;

/// 0, 1, ..., count - 1.
inline std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Cost of sequences: linear * s + attention * s^2, for example in FLOPs of one model. Lengths alone: {1, 0}.
struct Workload {
  double linear = 1;
  double attention = 0;
  double operator()(int64_t length) const {
    const auto s = static_cast<double>(length);
    return linear * s + attention * s * s;
  }
};

/// k parts of nearly equal sums; parts may be empty when there are fewer than k. Ties: by sum, count, index.
/// `weights` >= 0, k >= 1 (Bug). O(n log n) for n much larger than k.
Partition karmarkar_karp(const std::vector<double>& weights, int64_t k);

/// karmarkar_karp() with equal counts: part sizes differ by one at most (by none when k divides n).
Partition karmarkar_karp_equal_counts(const std::vector<double>& weights, int64_t k);

/// Global batch -> data-parallel ranks: equal counts, nearly equal work: Karmarkar-Karp, then swaps. Ascending indices.
Partition balance_ranks(const std::vector<double>& work, int64_t num_ranks);
Partition balance_ranks(const std::vector<int64_t>& lengths, int64_t num_ranks, const Workload& workload);

/// The sum of a part's weights, or of its tokens.
template <class T>
T part_sum(const std::vector<int64_t>& part, const std::vector<T>& values) {
  T sum = 0;
  for (const int64_t i : part) sum += values[i];
  return sum;
}

/// max / mean - 1; 0 when all loads are 0. Of parts: of the sums of their weights.
double imbalance(const std::vector<double>& loads);
double imbalance(const Partition& parts, const std::vector<double>& weights);

}  // namespace roll
