#include "packing/micro_batches.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "packing/alignment.h"
#include "packing/concatenated.h"
#include "packing/rebalance.h"

namespace roll {
namespace {

int64_t below(uint64_t seed, uint64_t what, int64_t n) {
  return static_cast<int64_t>(random_uniform({.seed = seed, .purpose = Purpose::kInit, .sequence = what}) *
                              static_cast<double>(n));
}

int64_t lognormal(uint64_t seed, uint64_t i, double mu, double sigma, int64_t cap) {
  const double z = random_normal({.seed = seed, .purpose = Purpose::kInit, .step = 1, .sequence = i});
  return std::clamp<int64_t>(static_cast<int64_t>(std::exp(mu + sigma * z)), 1, cap);
}

struct PackingCase {
  std::vector<int64_t> lengths;
  PackOptions options;
};

/// Lognormal, uniform, all equal, one giant; loose and tight budgets; with and without alignment.
PackingCase random_case(uint64_t seed) {
  PackingCase c;
  const int64_t n = 1 + below(seed, 1, 60);
  const int64_t kind = below(seed, 2, 4), cap = 512;
  for (int64_t i = 0; i < n; ++i) {
    if (kind == 0) c.lengths.push_back(lognormal(seed, i, 4.6, 0.8, cap));
    if (kind == 1) c.lengths.push_back(1 + below(seed, 100 + i, cap));
    if (kind == 2) c.lengths.push_back(100);
    if (kind == 3) c.lengths.push_back(i == n / 2 ? cap : 1 + below(seed, 100 + i, 20));
  }
  c.options.alignment = std::vector<int64_t>{1, 1, 4, 8}[below(seed, 3, 4)];
  const auto aligned = aligned_lengths(c.lengths, c.options.alignment);
  const int64_t largest = *std::max_element(aligned.begin(), aligned.end());
  c.options.budget = below(seed, 4, 2) ? largest + below(seed, 5, 50) : 512 + below(seed, 6, 2048);
  c.options.min_num_micro_batches = 1 + below(seed, 7, 2) * below(seed, 8, 6);
  c.options.workload = {1, below(seed, 9, 2) * 0.002};
  return c;
}

void require_valid(const Partition& parts, const PackingCase& c) {
  const auto tokens = aligned_lengths(c.lengths, c.options.alignment);
  std::vector<int64_t> all = test::concatenated(parts);
  for (const auto& part : parts) {
    int64_t sum = 0;
    for (const int64_t i : part) sum += tokens[i];
    REQUIRE(sum <= c.options.budget);
  }
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == c.lengths.size());
  for (size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == static_cast<int64_t>(i));
}

/// The fewest parts under the budget, by exhaustive search.
int64_t fewest_parts(const std::vector<int64_t>& tokens, int64_t budget, size_t next, std::vector<int64_t>& loads,
                     int64_t best) {
  if (static_cast<int64_t>(loads.size()) >= best) return best;
  if (next == tokens.size()) return static_cast<int64_t>(loads.size());
  for (size_t p = 0; p < loads.size(); ++p) {
    if (loads[p] + tokens[next] > budget) continue;
    loads[p] += tokens[next];
    best = fewest_parts(tokens, budget, next + 1, loads, best);
    loads[p] -= tokens[next];
  }
  loads.push_back(tokens[next]);
  best = fewest_parts(tokens, budget, next + 1, loads, best);
  loads.pop_back();
  return best;
}

}  // namespace

TEST_CASE("10,000 random mini-batches never exceed the budget and hold every sequence once", "[packing]") {
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    PackingCase c = random_case(seed);
    for (const PackAlgorithm algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance}) {
      c.options.algorithm = algorithm;
      const Partition parts = plan_micro_batches(c.lengths, c.options);
      require_valid(parts, c);
      const auto n = static_cast<int64_t>(c.lengths.size());
      REQUIRE(static_cast<int64_t>(parts.size()) >= std::min(n, c.options.min_num_micro_batches));
      REQUIRE(std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); }));
    }
  }
}

TEST_CASE("load_balance needs at most one micro-batch more than the lower bound on lognormal batches", "[packing]") {
  int within_one = 0;
  const int num_cases = 1000;
  for (int seed = 0; seed < num_cases; ++seed) {
    PackingCase c;
    for (int i = 0; i < 64; ++i) c.lengths.push_back(lognormal(seed, i, 4.6, 0.8, 512));
    c.options.budget = 1024;
    const int64_t total = std::accumulate(c.lengths.begin(), c.lengths.end(), int64_t{0});
    const auto k = static_cast<int64_t>(plan_micro_batches(c.lengths, c.options).size());
    within_one += k <= (total + 1023) / 1024 + 1;
  }
  CHECK(within_one >= num_cases * 99 / 100);
}

TEST_CASE("load_balance needs at most one micro-batch more than the best possible", "[packing]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    PackingCase c;
    const int64_t n = 2 + below(seed, 1, 8);
    for (int64_t i = 0; i < n; ++i) c.lengths.push_back(1 + below(seed, 10 + i, 100));
    c.options.budget = 100 + below(seed, 2, 40);
    std::vector<int64_t> loads;
    const int64_t best = fewest_parts(c.lengths, c.options.budget, 0, loads, n + 1);
    const auto k = static_cast<int64_t>(plan_micro_batches(c.lengths, c.options).size());
    CHECK(k >= best);
    CHECK(k <= best + 1);
  }
}

TEST_CASE("load_balance is never less even than plain Karmarkar-Karp under a loose budget", "[packing]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    PackingCase c;
    for (int i = 0; i < 40; ++i) c.lengths.push_back(lognormal(seed, i, 4.6, 0.8, 512));
    c.options = {.budget = 1 << 20, .min_num_micro_batches = 5, .workload = {1, 0.002}};
    std::vector<double> work;
    for (const int64_t length : c.lengths) work.push_back(c.options.workload(length));
    const Partition parts = plan_micro_batches(c.lengths, c.options);
    CHECK(imbalance(parts, work) <= imbalance(karmarkar_karp(work, 5), work) + 1e-12);
    CHECK(imbalance(parts, work) < 0.01);
  }
}

TEST_CASE("a tight budget that plain Karmarkar-Karp overflows is repaired without another micro-batch", "[packing]") {
  // By work, the two long ones part and drag short ones along: 60 + 4 * 10 tokens against a budget of 90.
  const std::vector<int64_t> lengths{60, 30, 30, 10, 10, 10, 10, 10, 10};
  PackOptions options{.budget = 90, .workload = {0, 1}};
  std::vector<double> work;
  for (const int64_t length : lengths) work.push_back(options.workload(length));
  const Partition parts = plan_micro_batches(lengths, options);
  CHECK(parts.size() == 2);
  require_valid(parts, {lengths, options});
}

TEST_CASE("repair_budget says when no move or swap helps", "[packing]") {
  Partition parts{{0, 1}, {2}};
  CHECK_FALSE(repair_budget(parts, {6, 6, 6}, 10));
  parts = {{0, 1}, {2}};
  CHECK(repair_budget(parts, {6, 4, 3}, 9));
  parts = {{0, 1}, {2, 3}};  // nothing fits into the room of 2, but 4 and 3 can change places
  CHECK(repair_budget(parts, {7, 4, 5, 3}, 10));
}

TEST_CASE("evening out lowers the heaviest part under the budget, by moves and by swaps", "[packing]") {
  Partition parts{{0, 1}, {2, 3}};
  even_out(parts, {8, 8, 1, 1}, {1, 1, 1, 1}, 2);
  CHECK(imbalance(parts, {8, 8, 1, 1}) == 0);
  parts = {{0, 1, 2}, {3}};
  even_out(parts, {2, 2, 2, 2}, {1, 1, 1, 1}, 4);
  CHECK(imbalance(parts, {2, 2, 2, 2}) == 0);
  parts = {{0, 1, 2}, {3}};
  even_out(parts, {2, 2, 2, 2}, {1, 1, 1, 3}, 3);  // nothing fits to the 3 tokens
  CHECK(parts == Partition{{0, 1, 2}, {3}});
  parts = {{0, 1}, {2}};
  even_out(parts, {3, 3, 1}, {1, 1, 9}, 9);  // a swap would bring the 9 tokens to the other
  CHECK(parts == Partition{{0, 1}, {2}});
}

TEST_CASE("evening out never makes it worse", "[packing]") {
  double before = 0, after = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::vector<int64_t> tokens;
    std::vector<double> work;
    Partition parts(4);
    for (int64_t i = 0; i < 24; ++i) {
      tokens.push_back(lognormal(seed, i, 4.6, 0.8, 512));
      work.push_back(Workload{1, 0.002}(tokens.back()));
      parts[i % 4].push_back(i);
    }
    int64_t fullest = 0;
    for (const auto& part : parts)
      fullest = std::max(fullest, std::accumulate(part.begin(), part.end(), int64_t{0},
                                                  [&](int64_t sum, int64_t i) { return sum + tokens[i]; }));
    const double plain = imbalance(parts, work);
    even_out(parts, work, tokens, fullest);
    require_valid(parts, {tokens, {.budget = fullest}});
    REQUIRE(imbalance(parts, work) <= plain + 1e-12);
    before += plain / 500;
    after += imbalance(parts, work) / 500;
  }
  CHECK(before > 0.2);
  CHECK(after < 0.02);
}

TEST_CASE("load_balance evens out what the repair of a tight budget made uneven", "[packing]") {
  double worst = 0, mean = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    PackingCase c;
    for (int i = 0; i < 40; ++i) c.lengths.push_back(lognormal(seed, i, 4.6, 0.8, 512));
    const int64_t total = std::accumulate(c.lengths.begin(), c.lengths.end(), int64_t{0});
    c.options = {.budget = total / 4 + 60, .workload = {1, 0.004}};
    std::vector<double> work;
    for (const int64_t length : c.lengths) work.push_back(c.options.workload(length));
    const Partition parts = plan_micro_batches(c.lengths, c.options);
    REQUIRE(parts.size() == 4);
    worst = std::max(worst, imbalance(parts, work));
    mean += imbalance(parts, work) / 300;
  }
  CAPTURE(worst, mean);
  CHECK(mean < 0.025);  // 0.033 without
}

TEST_CASE("8 ranks of 512 sequences work equally long, and each keeps any budget", "[packing]") {
  const Workload workload{1, GENERATE(0.0, 5e-5)};  // tokens, and the FLOPs of a small model
  double mean = 0, worst = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<int64_t> lengths;
    std::vector<double> work;
    for (uint64_t i = 0; i < 512; ++i) {
      lengths.push_back(lognormal(seed, i, 6, 0.8, 4096));
      work.push_back(workload(lengths.back()));
    }
    const Partition ranks = balance_ranks(lengths, 8, workload);
    mean += imbalance(ranks, work) / 30;
    worst = std::max(worst, imbalance(ranks, work));
    for (const auto& rank : ranks) {
      REQUIRE(rank.size() == 64);
      PackingCase c{.lengths = {},
                    .options = {.budget = 4096 * (1 + static_cast<int64_t>(seed % 4)), .workload = workload}};
      for (const int64_t i : rank) c.lengths.push_back(lengths[i]);
      require_valid(plan_micro_batches(c.lengths, c.options), c);
    }
  }
  CAPTURE(mean, worst);
  CHECK(mean < 0.0005);  // Karmarkar-Karp alone: 0.005
  CHECK(worst < 0.0005);
}

TEST_CASE("algorithm none packs greedily in the given order", "[packing]") {
  const PackOptions options{.algorithm = PackAlgorithm::kNone, .budget = 10};
  CHECK(plan_micro_batches({4, 6, 1, 9, 2, 3}, options) == Partition{{0, 1}, {2, 3}, {4, 5}});
  PackOptions more = options;
  more.min_num_micro_batches = 4;
  CHECK(plan_micro_batches({4, 6, 1, 9, 2, 3}, more).size() == 4);
  CHECK(test::concatenated(plan_micro_batches({4, 6, 1, 9, 2, 3}, more)) == std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  more.min_num_micro_batches = 100;
  CHECK(plan_micro_batches({4, 6, 1, 9, 2, 3}, more).size() == 6);
}

TEST_CASE("the budget counts tokens after alignment", "[packing]") {
  PackOptions options{.algorithm = PackAlgorithm::kNone, .budget = 16, .alignment = 8};
  CHECK(plan_micro_batches({1, 1, 1}, options) == Partition{{0, 1}, {2}});
  options.alignment = 1;
  CHECK(plan_micro_batches({1, 1, 1}, options) == Partition{{0, 1, 2}});
}

TEST_CASE("a sequence over the budget is named", "[packing]") {
  const PackOptions options{.budget = 10, .alignment = 4};
  CHECK_THROWS_WITH(plan_micro_batches({4, 9}, options),
                    "a sequence has 9 tokens (12 after alignment to 4), but the budget of a micro-batch is 10; raise "
                    "the budget to 12 or more");
  CHECK_THROWS_AS(plan_micro_batches({4, 9}, options), UserError);
  CHECK_THROWS_WITH(plan_micro_batches({11}, {.budget = 10}),
                    "a sequence has 11 tokens, but the budget of a micro-batch is 10; raise the budget to 11 or more");
}

TEST_CASE("every rank can run as many micro-batches as the largest one asks for", "[packing]") {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    PackingCase c = random_case(seed);
    c.options.algorithm = seed % 2 ? PackAlgorithm::kNone : PackAlgorithm::kLoadBalance;
    const auto own = static_cast<int64_t>(plan_micro_batches(c.lengths, c.options).size());
    const int64_t agreed = own + below(seed, 20, 8);
    const Partition parts = plan_micro_batches(c.lengths, c.options, agreed);
    REQUIRE(static_cast<int64_t>(parts.size()) == agreed);
    require_valid(parts, c);
    const auto num_filled = std::count_if(parts.begin(), parts.end(), [](const auto& part) { return !part.empty(); });
    REQUIRE(num_filled == std::min(agreed, static_cast<int64_t>(c.lengths.size())));
  }
  CHECK(plan_micro_batches(PlannedItems(), {.budget = 10}, 3) == Partition{{}, {}, {}});  // a rank without sequences
  CHECK(plan_micro_batches(PlannedItems(), {.budget = 10}).empty());
}

TEST_CASE("micro-batches are ordered small, large, small", "[packing]") {
  const std::vector<double> weights{5, 1, 4, 2, 3};
  CHECK(small_large_small({{0}, {1}, {2}, {3}, {4}}, weights) == Partition{{1}, {4}, {0}, {2}, {3}});
}

TEST_CASE("without a budget micro-batches are pieces of a fixed number of sequences", "[packing]") {
  CHECK(fixed_micro_batches(5, 2) == Partition{{0, 1}, {2, 3}, {4}});
  CHECK(fixed_micro_batches(0, 2).empty());
}

}  // namespace roll
