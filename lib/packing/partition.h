// Splits items into k parts of nearly equal weight, by the largest differencing method of Karmarkar and Karp (1982),
// deterministically. The distribution of sequences over ranks and micro_batches.h use it.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace roll {

/// A list of parts; a part is a list of item indices, from 0. Each index occurs in exactly one part.
using Partition = std::vector<std::vector<int64_t>>;

/// Returns 0, 1, ..., count - 1.
inline std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Cost of a sequence of `length` tokens: linear * length + attention * length^2, for example in FLOPs of one model.
/// The default counts tokens.
struct Workload {
  double linear = 1;
  double attention = 0;
  double operator()(int64_t length) const {
    const auto s = static_cast<double>(length);
    return linear * s + attention * s * s;
  }
};

/// Splits n items with `weights` [n] into k parts of nearly equal sums; indices ascend in each part. Some parts are
/// empty if n < k. Throws Bug if a weight is negative or k < 1. Takes O(n log n) time for n much larger than k.
Partition karmarkar_karp(const std::vector<double>& weights, int64_t k);

/// Like karmarkar_karp(), but the parts also have equal numbers of items, or numbers that differ by one if k does not
/// divide n.
Partition karmarkar_karp_equal_counts(const std::vector<double>& weights, int64_t k);

/// Splits the sequences of a global batch over data-parallel ranks, with nearly equal work and numbers of sequences
/// that differ by at most one. Returns a part per rank; indices ascend in each part. `work`: cost of each sequence.
Partition balance_ranks(const std::vector<double>& work, int64_t num_ranks);
/// Like balance_ranks() above, for sequences of `lengths` tokens, which cost workload(length) each.
Partition balance_ranks(const std::vector<int64_t>& lengths, int64_t num_ranks, const Workload& workload);

/// Returns the sum of values[i] over the items i of a part. T: a number type.
template <class T>
T part_sum(const std::vector<int64_t>& part, const std::vector<T>& values) {
  T sum = 0;
  for (const int64_t i : part) sum += values[i];
  return sum;
}

/// Return max / mean - 1 of the loads, or of the sums of weights of each part; 0 if all are 0.
double imbalance(const std::vector<double>& loads);
double imbalance(const Partition& parts, const std::vector<double>& weights);

}  // namespace roll
