#include "packing/partition.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace roll {
namespace {

using Parts = std::set<std::vector<int64_t>>;
Parts as_set(const Partition& parts) {
  return {parts.begin(), parts.end()};
}

std::vector<double> sums(const Partition& parts, const std::vector<double>& weights) {
  std::vector<double> result;
  for (const auto& part : parts) result.push_back(part_sum(part, weights));
  std::sort(result.rbegin(), result.rend());
  return result;
}

const std::vector<double> kTen{512, 1024, 256, 2048, 128, 768, 1536, 384, 896, 640};

/// A lognormal length in 1..32768.
int64_t random_length(uint64_t seed, uint64_t i) {
  const double z = random_normal({.seed = seed, .purpose = Purpose::kInit, .sequence = i});
  return std::clamp<int64_t>(static_cast<int64_t>(std::exp(6 + 1.2 * z)), 1, 32768);
}

}  // namespace

TEST_CASE("karmarkar_karp gives the known parts", "[packing]") {
  CHECK(as_set(karmarkar_karp(kTen, 2)) == Parts{{0, 1, 6, 7, 9}, {2, 3, 4, 5, 8}});
  CHECK(sums(karmarkar_karp(kTen, 2), kTen) == std::vector<double>{4096, 4096});
  CHECK(as_set(karmarkar_karp(kTen, 4)) == Parts{{2, 4, 5, 8}, {1, 7, 9}, {0, 6}, {3}});
  const std::vector<double> eight{100, 37, 250, 9, 64, 180, 33, 5};
  CHECK(as_set(karmarkar_karp(eight, 3)) == Parts{{2}, {0, 1, 3, 4, 7}, {5, 6}});
  CHECK(sums(karmarkar_karp(eight, 3), eight) == std::vector<double>{250, 215, 213});
}

TEST_CASE("balance_ranks gives the known parts of equal counts", "[packing]") {
  const Partition parts = balance_ranks({512, 1024, 256, 2048, 128, 768, 1536, 384}, 2, {});
  CHECK(as_set(parts) == Parts{{0, 1, 2, 6}, {3, 4, 5, 7}});
}

TEST_CASE("balance_ranks evens out the work, not the tokens", "[packing]") {
  const Workload quadratic{0, 1};
  std::vector<int64_t> lengths;
  std::vector<double> work;
  for (int i = 0; i < 32; ++i) {
    lengths.push_back(100 + random_length(3, i) % 2000);
    work.push_back(quadratic(lengths.back()));
  }
  CHECK(imbalance(balance_ranks(lengths, 4, quadratic), work) < 0.02);
  CHECK(imbalance(balance_ranks(lengths, 4, {}), work) > 0.05);  // by tokens, so that the line above can fail
}

TEST_CASE("karmarkar_karp holds every index once, whatever k", "[packing]") {
  for (int64_t n = 0; n < 40; ++n) {
    for (int64_t k = 1; k < 12; ++k) {
      std::vector<double> weights;
      for (int64_t i = 0; i < n; ++i) weights.push_back(static_cast<double>(random_length(n * 100 + k, i) % 7));
      for (const bool equal : {false, true}) {
        const Partition parts = equal ? karmarkar_karp_equal_counts(weights, k) : karmarkar_karp(weights, k);
        REQUIRE(static_cast<int64_t>(parts.size()) == k);
        std::vector<int64_t> seen;
        size_t smallest = SIZE_MAX, largest = 0;
        for (const auto& part : parts) {
          seen.insert(seen.end(), part.begin(), part.end());
          smallest = std::min(smallest, part.size());
          largest = std::max(largest, part.size());
          REQUIRE(std::is_sorted(part.begin(), part.end()));
        }
        std::sort(seen.begin(), seen.end());
        REQUIRE(static_cast<int64_t>(seen.size()) == n);
        for (int64_t i = 0; i < n; ++i) REQUIRE(seen[i] == i);
        if (equal) REQUIRE(largest - smallest <= 1);
      }
    }
  }
}

TEST_CASE("karmarkar_karp is never far from the best two parts", "[packing]") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int n = 4 + static_cast<int>(seed % 7);
    std::vector<double> weights;
    for (int i = 0; i < n; ++i) weights.push_back(static_cast<double>(random_length(seed, i)));
    double best = INFINITY, total = 0;
    for (const double w : weights) total += w;
    for (int subset = 0; subset < 1 << n; ++subset) {
      double sum = 0;
      for (int i = 0; i < n; ++i)
        if (subset >> i & 1) sum += weights[i];
      best = std::min(best, std::max(sum, total - sum));
    }
    CHECK(sums(karmarkar_karp(weights, 2), weights)[0] <= best * 7 / 6 + 1e-9);  // its proven bound for two parts
  }
}

// How long it takes: build/roll_tests -d yes "100,000 sequences*". To be under a second on one core.
TEST_CASE("100,000 sequences go into 8, 512 or 4,096 parts evenly", "[packing]") {
  std::vector<int64_t> lengths;
  std::vector<double> weights;
  for (uint64_t i = 0; i < 100000; ++i) {
    lengths.push_back(1 + random_length(1, i) % 2048);
    weights.push_back(static_cast<double>(lengths.back()));
  }
  const int64_t k = GENERATE(8, 512, 4096);
  const Partition free = karmarkar_karp(weights, k), equal = balance_ranks(lengths, k, {});
  CHECK(std::ssize(free) == k);
  CHECK(imbalance(free, weights) < 0.001);
  CHECK(std::ssize(equal) == k);
  CHECK(imbalance(equal, weights) < 0.001);
}

TEST_CASE("karmarkar_karp refuses negative work and no parts", "[packing]") {
  CHECK_THROWS_AS(karmarkar_karp({1, -1}, 2), Bug);
  CHECK_THROWS_AS(karmarkar_karp({1}, 0), Bug);
}

TEST_CASE("workload grows with the square of the length by its attention part", "[packing]") {
  CHECK(Workload{2, 0.5}(10) == 70);
  CHECK(Workload{}(10) == 10);
}

TEST_CASE("balance_ranks is never less even than Karmarkar-Karp of equal counts, mostly far more", "[packing]") {
  double plain = 0, refined = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<int64_t> lengths;
    std::vector<double> work;
    for (int i = 0; i < 24; ++i) {
      lengths.push_back(1 + random_length(seed, i) % 512);
      work.push_back(static_cast<double>(lengths.back()));
    }
    const Partition ranks = balance_ranks(lengths, 8, {1, 0});
    for (const auto& rank : ranks) {
      REQUIRE(rank.size() == 3);
      REQUIRE(std::is_sorted(rank.begin(), rank.end()));
    }
    const double before = imbalance(karmarkar_karp_equal_counts(work, 8), work), after = imbalance(ranks, work);
    REQUIRE(after <= before + 1e-12);
    plain += before / 300;
    refined += after / 300;
  }
  CAPTURE(plain, refined);
  CHECK(refined < plain / 2);
}

TEST_CASE("imbalance is max over mean minus one", "[packing]") {
  CHECK(imbalance({{0}, {1, 2}}, {3, 4, 5}) == Approx(0.5));
  CHECK(imbalance({{}, {}}, {}) == 0);
}

}  // namespace roll
