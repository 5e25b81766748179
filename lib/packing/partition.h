// Splits work evenly by the largest differencing method of Karmarkar and Karp (1982) for k parts. Deterministic.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace roll {

/// Lists of indices; each index occurs once, ascending within a part.
using Partition = std::vector<std::vector<int64_t>>;

/// Returns 0, 1, ..., count - 1.
inline std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Cost of a sequence: linear * s + attention * s^2, for example in FLOPs of one model. {1, 0} counts tokens.
struct Workload {
  double linear = 1;
  double attention = 0;
  double operator()(int64_t length) const {
    const auto s = static_cast<double>(length);
    return linear * s + attention * s * s;
  }
};

/// Returns k parts of nearly equal sums; some are empty if there are fewer than k weights. Ties: by sum, count, index.
/// Bug: a weight is negative, or k < 1. O(n log n) for n much larger than k.
Partition karmarkar_karp(const std::vector<double>& weights, int64_t k);

/// Like karmarkar_karp(), with equal counts: part sizes differ by at most one (by none if k divides n).
Partition karmarkar_karp_equal_counts(const std::vector<double>& weights, int64_t k);

/// Splits a global batch over data-parallel ranks, with equal counts and nearly equal work: Karmarkar-Karp, then swaps.
/// Indices ascend.
Partition balance_ranks(const std::vector<double>& work, int64_t num_ranks);
Partition balance_ranks(const std::vector<int64_t>& lengths, int64_t num_ranks, const Workload& workload);

/// Returns the sum of a part's values, such as weights or tokens.
template <class T>
T part_sum(const std::vector<int64_t>& part, const std::vector<T>& values) {
  T sum = 0;
  for (const int64_t i : part) sum += values[i];
  return sum;
}

/// Returns max / mean - 1 of the loads, or of the parts' weight sums; 0 if all are 0.
double imbalance(const std::vector<double>& loads);
double imbalance(const Partition& parts, const std::vector<double>& weights);

}  // namespace roll
