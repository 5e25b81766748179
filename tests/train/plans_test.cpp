// Plans over ranks, on many random batches: what holds for every one of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "packing/alignment.h"
#include "packing/concatenated.h"
#include "packing/statistics.h"
#include "step/batches.h"

namespace roll {
namespace {

int64_t below(uint64_t seed, uint64_t what, int64_t n) {
  return static_cast<int64_t>(random_uniform({.seed = seed, .purpose = Purpose::kInit, .sequence = what}) *
                              static_cast<double>(n));
}

int64_t lognormal(uint64_t seed, int64_t i) {
  const RandomName name{.seed = seed, .purpose = Purpose::kInit, .step = 1, .sequence = static_cast<uint64_t>(i)};
  return std::clamp<int64_t>(static_cast<int64_t>(std::exp(4.6 + 0.8 * random_normal(name))), 1, 512);
}

enum Kind { kLognormal, kUniform, kEqual, kOneGiant, kNumKinds };

struct Case {
  Kind kind = kLognormal;
  int64_t num_ranks = 1;
  std::vector<int64_t> lengths;
  BatchRule rule;
};

/// A third of the cases has few sequences or more ranks than sequences; half of the budgets are tight.
Case random_case(uint64_t seed) {
  Case c;
  c.kind = static_cast<Kind>(below(seed, 1, kNumKinds));
  const int64_t n = 1 + below(seed, 2, seed % 3 ? 120 : 8);
  c.num_ranks = std::vector<int64_t>{1, 2, 3, 8, 16}[below(seed, 3, 5)];
  for (int64_t i = 0; i < n; ++i) {
    if (c.kind == kLognormal) c.lengths.push_back(lognormal(seed, i));
    if (c.kind == kUniform) c.lengths.push_back(1 + below(seed, 100 + i, 512));
    if (c.kind == kEqual) c.lengths.push_back(100);
    if (c.kind == kOneGiant) c.lengths.push_back(i == n / 2 ? 512 : 1 + below(seed, 100 + i, 20));
  }
  PackOptions& packing = c.rule.packing;
  c.rule.is_packed = true;
  packing.workload = {1, below(seed, 4, 2) * 0.002};
  packing.alignment = std::vector<int64_t>{1, 1, 4, 8}[below(seed, 5, 4)];
  packing.algorithm = below(seed, 6, 4) ? PackAlgorithm::kLoadBalance : PackAlgorithm::kNone;
  packing.min_num_micro_batches = 1 + below(seed, 7, 2) * below(seed, 8, 6);
  const auto aligned = aligned_lengths(c.lengths, packing.alignment);
  const int64_t longest = *std::max_element(aligned.begin(), aligned.end());
  packing.budget = below(seed, 9, 2) ? longest + below(seed, 10, 50) : 512 + below(seed, 11, 2048);
  return c;
}

std::vector<int64_t> sequences_of(const Partition& plan) {
  return test::concatenated(plan);
}

/// No packing of these sequences has fewer parts (Martello and Toth's L2): a long one and what cannot share its part.
int64_t fewest_parts(const std::vector<int64_t>& tokens, int64_t budget) {
  int64_t best = 0;
  for (int64_t small = 0; small <= budget / 2; ++small) {
    int64_t alone = 0, large = 0, room = 0, rest = 0;
    for (const int64_t t : tokens) {
      if (t > budget - small) {
        ++alone;
      } else if (2 * t > budget) {
        ++large;
        room += budget - t;
      } else if (t >= small) {
        rest += t;
      }
    }
    best = std::max(best, alone + large + std::max<int64_t>(0, (rest - room + budget - 1) / budget));
  }
  return best;
}

std::vector<int64_t> pick(const std::vector<int64_t>& values, const std::vector<int64_t>& indices) {
  std::vector<int64_t> picked;
  for (const int64_t i : indices) picked.push_back(values[i]);
  return picked;
}

std::vector<double> work_of(const Case& c, const std::vector<int64_t>& sequences) {
  std::vector<double> work;
  for (const int64_t i : sequences) work.push_back(c.rule.packing.workload(c.lengths[i]));
  return work;
}

/// Plain Karmarkar-Karp of a rank's sequences into as many parts; nullopt when it breaks the budget.
std::optional<double> plain_imbalance(const Case& c, const std::vector<int64_t>& sequences, int64_t k) {
  const auto work = work_of(c, sequences);
  const auto tokens = aligned_lengths(pick(c.lengths, sequences), c.rule.packing.alignment);
  const Partition parts = karmarkar_karp(work, k);
  const std::vector<double> loads(tokens.begin(), tokens.end());
  for (const auto& part : parts)
    if (part_sum(part, loads) > static_cast<double>(c.rule.packing.budget)) return std::nullopt;
  return imbalance(parts, work);
}

}  // namespace

TEST_CASE("10,000 random batches over ranks: no overflow, every sequence once, equally many micro-batches", "[train]") {
  int with_fillers = 0, with_empty_ranks = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    const Case c = random_case(seed);
    const auto plans = plan_ranks(c.lengths, c.rule, c.num_ranks);
    const BatchStats stats = batch_stats(plans, c.lengths, c.rule.packing);
    REQUIRE(std::ssize(plans) == c.num_ranks);
    REQUIRE(stats.num_over_budget() == 0);
    std::vector<int64_t> uses(c.lengths.size());
    for (const auto& plan : plans) {
      REQUIRE(plan.size() == plans.front().size());
      for (const int64_t i : sequences_of(plan)) ++uses.at(i);
    }
    REQUIRE(uses == std::vector<int64_t>(c.lengths.size(), 1));
    with_fillers += stats.num_fillers() > 0;
    with_empty_ranks += c.num_ranks > std::ssize(c.lengths);
  }
  CHECK(with_fillers > 500);
  CHECK(with_empty_ranks > 500);
}

TEST_CASE("ranks need at most one micro-batch more than the lower bound on 99 % of lognormal batches", "[train]") {
  int cases = 0, within_one = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    const Case c = random_case(seed);
    if (c.kind != kLognormal || c.rule.packing.algorithm != PackAlgorithm::kLoadBalance) continue;
    int64_t needed = 0;
    const auto plans = plan_ranks(c.lengths, c.rule, c.num_ranks);
    for (const auto& plan : plans) {
      const auto local = aligned_lengths(pick(c.lengths, sequences_of(plan)), c.rule.packing.alignment);
      const int64_t wished = std::min(c.rule.packing.min_num_micro_batches, std::ssize(local));
      needed = std::max({needed, wished, fewest_parts(local, c.rule.packing.budget)});
    }
    ++cases;
    within_one += std::ssize(plans.front()) <= needed + 1;
  }
  CAPTURE(cases, within_one);
  CHECK(cases > 1500);
  CHECK(within_one >= cases * 0.99);
}

TEST_CASE("neither ranks nor their micro-batches are less even than by plain Karmarkar-Karp", "[train]") {
  int compared = 0, broke_the_budget = 0;
  double plain = 0, ours = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    const Case c = random_case(seed);
    if (c.rule.packing.algorithm != PackAlgorithm::kLoadBalance) continue;
    const auto plans = plan_ranks(c.lengths, c.rule, c.num_ranks);
    std::vector<int64_t> all(c.lengths.size());
    std::iota(all.begin(), all.end(), 0);
    const auto work = work_of(c, all);
    Partition ranks;
    for (const auto& plan : plans) ranks.push_back(sequences_of(plan));
    const double plain_ranks = imbalance(karmarkar_karp_equal_counts(work, c.num_ranks), work);
    REQUIRE(imbalance(ranks, work) <= plain_ranks + 1e-12);
    plain += plain_ranks;
    ours += imbalance(ranks, work);
    for (const auto& plan : plans) {
      const auto k = std::count_if(plan.begin(), plan.end(), [](const auto& part) { return !part.empty(); });
      if (k == 0) continue;
      auto sequences = sequences_of(plan);
      std::sort(sequences.begin(), sequences.end());
      const auto plain_parts = plain_imbalance(c, sequences, k);
      broke_the_budget += !plain_parts;
      if (!plain_parts) continue;
      ++compared;
      const Partition parts(plan.begin(), plan.begin() + k);  // fillers are at the end
      REQUIRE(imbalance(parts, work) <= *plain_parts + 1e-12);
    }
  }
  CAPTURE(compared, broke_the_budget, plain, ours);
  CHECK(compared > 10000);
  CHECK(broke_the_budget > 500);  // those are what the repair is for
  CHECK(ours < plain);
}

namespace {

/// The smallest possible largest work of k parts within the budget, by trying all; INFINITY when there is none.
struct BestPeak {
  const std::vector<double>& work;
  const std::vector<int64_t>& tokens;
  int64_t budget;
  std::vector<double> loads;
  std::vector<int64_t> filled;
  double best = INFINITY;

  void search(size_t next, double peak) {
    if (peak >= best) return;
    if (next == work.size()) {
      best = peak;
      return;
    }
    for (size_t p = 0; p < loads.size(); ++p) {
      const bool was_empty = filled[p] == 0;
      if (filled[p] + tokens[next] <= budget) {
        loads[p] += work[next];
        filled[p] += tokens[next];
        search(next + 1, std::max(peak, loads[p]));
        loads[p] -= work[next];
        filled[p] -= tokens[next];
      }
      if (was_empty) return;  // the other empty parts are like this one
    }
  }
};

}  // namespace

TEST_CASE("up to 10 sequences: as few parts as possible but for one, and nearly the best peak", "[train]") {
  int best_count = 0, one_more = 0, best_peak = 0;
  double worst = 0, sum = 0;
  const int num_cases = 1000;
  for (uint64_t seed = 0; seed < num_cases; ++seed) {
    PackOptions options{.workload = {1, seed % 2 ? 0.01 : 0}};
    std::vector<int64_t> lengths;
    std::vector<double> work;
    for (int64_t i = 0; i < 2 + below(seed, 1, 9); ++i) {
      lengths.push_back(1 + below(seed, 10 + i, 100));
      work.push_back(options.workload(lengths.back()));
    }
    options.budget = 100 + below(seed, 2, 120);
    const Partition parts = plan_micro_batches(lengths, options);
    const auto k = std::ssize(parts);
    const auto peak_of = [&](int64_t num_parts) {
      BestPeak optimum{work, lengths, options.budget, std::vector<double>(num_parts), std::vector<int64_t>(num_parts)};
      optimum.search(0, 0);
      return optimum.best;
    };
    int64_t fewest = 1;
    while (std::isinf(peak_of(fewest))) ++fewest;
    REQUIRE(k >= fewest);
    REQUIRE(k <= fewest + 1);
    best_count += k == fewest;
    one_more += k != fewest;
    double peak = 0;
    for (const auto& part : parts) peak = std::max(peak, part_sum(part, work));
    const double ratio = peak / peak_of(k);
    REQUIRE(ratio >= 1 - 1e-12);
    best_peak += ratio < 1 + 1e-9;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  CAPTURE(best_count, one_more, best_peak, worst, sum / num_cases);
  CHECK(one_more <= num_cases / 100);
  CHECK(best_peak >= num_cases * 9 / 10);
  CHECK(sum / num_cases < 1.002);
  CHECK(worst < 1.1);
}

}  // namespace roll
