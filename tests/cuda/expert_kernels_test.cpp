// Kernels of mixtures of experts, run by lanes on the CPU: routing against the CPU decoder's, products against plain
// loops in float64.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "cuda/expert_products.h"
#include "cuda/rounding.h"
#include "cuda/warps.h"
#include "decode/device_experts.h"
#include "ops/choose_experts.h"

namespace roll {

using test::is_near;
using test::random_floats;

namespace {

/// Rows of which the second last is a padding row.
std::vector<StepRow> rows_with_padding(int64_t count) {
  std::vector<StepRow> rows;
  for (int32_t i = 0; i < count; ++i) rows.push_back({.token = 0, .position = 3 * i, .slot = i % 2});
  if (count > 1) rows[count - 2].slot = -1;
  return rows;
}

/// A mixture's weights and one step's rows, with all that the kernels write, which begins as poison.
template <class T>
struct Mixture {
  int64_t rows, experts, chosen, hidden, inner;
  std::vector<T> x, gate, up, down;
  std::vector<const T*> gates, ups, downs;
  std::vector<int32_t> choices, entries, sources;
  std::vector<float> weights, results, sums;
  std::vector<T> gated;
  std::vector<ExpertTile> tiles;

  Mixture(int64_t rows_, int64_t experts_, int64_t chosen_, int64_t hidden_, int64_t inner_)
      : rows(rows_), experts(experts_), chosen(chosen_), hidden(hidden_), inner(inner_) {
    x = narrowed(rows * hidden, 1, 1);
    gate = narrowed(experts * inner * hidden, 2, 0.3);
    up = narrowed(experts * inner * hidden, 3, 0.3);
    down = narrowed(experts * inner * hidden, 4, 0.3);
    for (int64_t e = 0; e < experts; ++e) {
      gates.push_back(&gate[e * inner * hidden]), ups.push_back(&up[e * inner * hidden]);
      downs.push_back(&down[e * inner * hidden]);
    }
    choices = poisoned<int32_t>(rows * chosen), entries = choices, sources = choices;
    weights = poisoned<float>(rows * chosen);
    results = poisoned<float>(rows * chosen * hidden), sums = poisoned<float>(rows * hidden);
    gated = poisoned<T>(rows * chosen * inner);
  }

  template <int kRows>
  void run(const std::vector<StepRow>& step) {
    const int64_t max_tiles = SortChoices::most_tiles(rows * chosen, experts, kRows);
    tiles = poisoned<ExpertTile>(max_tiles);
    test::run_kernel(SortChoices{.choices = choices.data(),
                                 .entries = entries.data(),
                                 .sources = sources.data(),
                                 .tiles = tiles.data(),
                                 .num_rows = rows,
                                 .chosen = chosen,
                                 .tile_rows = kRows,
                                 .max_tiles = max_tiles});
    test::run_kernel(MultiplyGroups<T, kRows>{.x = x.data(),
                                              .sources = sources.data(),
                                              .first = gates.data(),
                                              .second = ups.data(),
                                              .tiles = tiles.data(),
                                              .gated = gated.data(),
                                              .inputs = hidden,
                                              .outputs = inner,
                                              .max_tiles = max_tiles});
    test::run_kernel(MultiplyGroups<T, kRows>{.x = gated.data(),
                                              .first = downs.data(),
                                              .tiles = tiles.data(),
                                              .results = results.data(),
                                              .inputs = inner,
                                              .outputs = hidden,
                                              .max_tiles = max_tiles});
    test::run_kernel(CombineExperts{.results = results.data(),
                                    .entries = entries.data(),
                                    .weights = weights.data(),
                                    .rows = step.data(),
                                    .sums = sums.data(),
                                    .num_rows = rows,
                                    .hidden = hidden,
                                    .chosen = chosen});
  }

  /// Row i's result in float64, but for the rounding of what lies between the products.
  std::vector<double> expected(int64_t i) const {
    std::vector<double> sum(hidden);
    for (int64_t k = 0; k < chosen; ++k) {
      const int64_t e = choices[i * chosen + k];
      std::vector<double> between(inner);
      for (int64_t o = 0; o < inner; ++o) {
        const double one = dot(&gate[(e * inner + o) * hidden], &x[i * hidden], hidden);
        T rounded;
        store(rounded, static_cast<float>(one / (1 + std::exp(-one)) *
                                          dot(&up[(e * inner + o) * hidden], &x[i * hidden], hidden)));
        between[o] = to_float(rounded);
      }
      for (int64_t j = 0; j < hidden; ++j)
        for (int64_t o = 0; o < inner; ++o)
          sum[j] += weights[i * chosen + k] * between[o] * to_float(down[(e * hidden + j) * inner + o]);
    }
    return sum;
  }

 private:
  static double dot(const T* a, const T* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(to_float(a[i])) * to_float(b[i]);
    return sum;
  }
  static std::vector<T> narrowed(int64_t count, uint64_t seed, double scale) {
    const std::vector<float> wide = random_floats(count, seed, scale);
    std::vector<T> result(wide.size());
    for (size_t i = 0; i < wide.size(); ++i) store(result[i], wide[i]);
    return result;
  }
  template <class U>
  static std::vector<U> poisoned(int64_t count) {
    std::vector<U> values(count);
    test::poison(values.data(), values.size() * sizeof(U));
    return values;
  }
};

/// Sets choices by a router that likes the first experts, none for padding rows.
template <class T>
void choose_unevenly(Mixture<T>& mixture, const std::vector<StepRow>& step) {
  for (int64_t i = 0; i < mixture.rows; ++i)
    for (int64_t k = 0; k < mixture.chosen; ++k) {
      const bool is_first = k == 0 && i % 3 != 0;
      mixture.choices[i * mixture.chosen + k] = step[i].slot < 0 ? -1
                                                : is_first
                                                    ? 0
                                                    : static_cast<int32_t>(1 + (5 * i + k) % (mixture.experts - 1));
      mixture.weights[i * mixture.chosen + k] = 0.1f * static_cast<float>(1 + (i + k) % 5);
    }
}

template <class T, int kRows>
void check_mixture(int64_t rows, int64_t experts, int64_t chosen, int64_t hidden, int64_t inner) {
  Mixture<T> mixture(rows, experts, chosen, hidden, inner);
  const std::vector<StepRow> step = rows_with_padding(rows);
  choose_unevenly(mixture, step);
  mixture.template run<kRows>(step);
  double largest = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const std::vector<double> expected = step[i].slot < 0 ? std::vector<double>(hidden) : mixture.expected(i);
    for (int64_t j = 0; j < hidden; ++j) {
      CAPTURE(i, j, rows, experts, chosen, hidden, inner, kRows, mixture.sums[i * hidden + j], expected[j]);
      // What lies between may be rounded to the other neighbour.
      const double margin = sizeof(T) == 4 ? 2e-5 : 0.02;
      REQUIRE(std::abs(mixture.sums[i * hidden + j] - expected[j]) <= margin * std::max(1.0, std::abs(expected[j])));
      largest = std::max(largest, std::abs(expected[j]));
    }
  }
  CHECK(largest > 1);
}

RoutingRule rule_of(int64_t count, int64_t chosen, int64_t groups = 1, int64_t chosen_groups = 1) {
  return {.count = count, .chosen = chosen, .groups = groups, .chosen_groups = chosen_groups};
}

}  // namespace

TEST_CASE("rows choose the experts that the CPU's decoder chooses, by every rule", "[cuda]") {
  RoutingRule rule = GENERATE(rule_of(7, 3), rule_of(128, 8), rule_of(32, 4, 8, 3), rule_of(500, 10, 4, 2));
  rule.is_sigmoid = GENERATE(false, true);
  rule.renormalises = GENERATE(false, true);
  rule.ranks_by_largest = GENERATE(false, true);
  rule.scale = rule.renormalises ? 2.5 : 1;
  const bool has_bias = GENERATE(false, true);
  constexpr int64_t kRows = 5, kPage = 8, kWidth = 3;
  const int64_t stride = rule.count + 1, chosen = rule.chosen;
  std::vector<float> logits = random_floats(kRows * stride, 1, 2), bias = random_floats(rule.count, 2, 0.1);
  for (int64_t e = 0; e < rule.count; ++e) logits[e] = std::round(logits[e]);  // the first row has equal ones
  logits[1] = -200, logits[0] = 3;
  const std::vector<StepRow> rows = rows_with_padding(kRows);
  std::vector<int32_t> choices(kRows * chosen, 99);
  std::vector<float> weights(kRows * chosen, NAN);
  const std::vector<int32_t> tables = {2, 0, 1, 5, 3, 4};
  std::vector<int16_t> record(6 * kPage * (chosen + 2), -7);
  test::run_kernel(ChooseExperts{.logits = logits.data(),
                                 .bias = has_bias ? bias.data() : nullptr,
                                 .rows = rows.data(),
                                 .choices = choices.data(),
                                 .weights = weights.data(),
                                 .records = {.experts = record.data(),
                                             .tables = tables.data(),
                                             .table_width = kWidth,
                                             .page_size = kPage,
                                             .width = static_cast<int32_t>(chosen + 2),
                                             .first = 1},
                                 .rule = expert_rule(rule),
                                 .num_rows = kRows,
                                 .stride = stride});
  int64_t recorded = 0;
  for (const int16_t expert : record) recorded += expert != -7;
  CHECK(recorded == (kRows - 1) * chosen);
  for (int64_t i = 0; i < kRows; ++i) {
    std::vector<int32_t> expected(chosen, -1);
    std::vector<float> expected_weights(chosen);
    const bool is_padding = rows[i].slot < 0;
    if (!is_padding)
      choose_experts(&logits[i * stride], rule, has_bias ? bias.data() : nullptr, expected.data(),
                     expected_weights.data());
    for (int64_t k = 0; k < chosen; ++k) {
      CAPTURE(i, k, rule.count, rule.is_sigmoid, rule.groups, has_bias);
      REQUIRE(choices[i * chosen + k] == expected[k]);
      if (is_padding) continue;
      REQUIRE(is_near(weights[i * chosen + k], expected_weights[k]));
      const int64_t page = tables[rows[i].slot * kWidth + rows[i].position / kPage];
      REQUIRE(record[(page * kPage + rows[i].position % kPage) * (chosen + 2) + 1 + k] == expected[k]);
    }
  }
}

TEST_CASE("an expert whose logit is no number is chosen, so that the row shows it", "[cuda]") {
  const int64_t num_wrong = GENERATE(1, 3, 40);
  RoutingRule rule = rule_of(40, 6);
  rule.is_sigmoid = GENERATE(false, true);
  std::vector<float> logits = random_floats(40, 1);
  for (int64_t i = 0; i < num_wrong; ++i) logits[(11 * i + 7) % 40] = NAN;
  const StepRow row{.token = 0, .position = 0, .slot = 0};
  std::vector<int32_t> choices(6, 99);
  std::vector<float> weights(6);
  test::run_kernel(ChooseExperts{.logits = logits.data(),
                                 .rows = &row,
                                 .choices = choices.data(),
                                 .weights = weights.data(),
                                 .rule = expert_rule(rule),
                                 .num_rows = 1,
                                 .stride = 40});
  CHECK(std::isnan(weights[0]));
  CHECK((!rule.is_sigmoid || std::isnan(logits[choices[0]])));
  std::ranges::sort(choices);
  for (size_t k = 0; k < choices.size(); ++k)
    CHECK((0 <= choices[k] && choices[k] < 40 && (k == 0 || choices[k - 1] < choices[k])));
}

TEST_CASE("choices are sorted by expert, in tiles of one expert each", "[cuda]") {
  const int64_t rows = GENERATE(1, 40, 300), tile_rows = GENERATE(8, 16), experts = 37;
  Mixture<float> mixture(rows, experts, 3, 4, 4);
  const std::vector<StepRow> step = rows_with_padding(rows);
  choose_unevenly(mixture, step);
  const int64_t max_tiles = SortChoices::most_tiles(rows * 3, experts, tile_rows);
  mixture.tiles.resize(max_tiles);
  test::run_kernel(SortChoices{.choices = mixture.choices.data(),
                               .entries = mixture.entries.data(),
                               .sources = mixture.sources.data(),
                               .tiles = mixture.tiles.data(),
                               .num_rows = rows,
                               .chosen = 3,
                               .tile_rows = tile_rows,
                               .max_tiles = max_tiles});
  std::vector<int32_t> expert_of(rows * 3, -1);
  int32_t end = 0;
  for (const ExpertTile& tile : mixture.tiles) {
    REQUIRE(tile.count <= tile_rows);
    if (tile.count == 0) continue;
    REQUIRE(tile.first == end);
    end += tile.count;
    for (int32_t i = 0; i < tile.count; ++i) expert_of[tile.first + i] = tile.expert;
  }
  int64_t num_chosen = 0;
  for (int64_t c = 0; c < rows * 3; ++c) {
    if (mixture.choices[c] < 0) continue;
    ++num_chosen;
    REQUIRE(expert_of.at(mixture.entries[c]) == mixture.choices[c]);
    REQUIRE(mixture.sources.at(mixture.entries[c]) == c / 3);
  }
  CHECK(end == num_chosen);
}

TEST_CASE("rows go through the experts that they chose, as in float64", "[cuda]") {
  check_mixture<float, 16>(1, 4, 2, 32, 16);
  check_mixture<float, 16>(37, 5, 3, 40, 24);
  check_mixture<float, 64>(75, 3, 2, 40, 20);
  check_mixture<Bf16, 16>(20, 6, 2, 72, 40);
  check_mixture<Bf16, 64>(70, 2, 2, 64, 8);
  check_mixture<Fp16, 16>(9, 9, 4, 136, 48);
}

TEST_CASE("a row's bits depend neither on the rows beside it nor on the size of tiles", "[cuda]") {
  const auto run = [&]<int kRows>(int64_t rows) {
    Mixture<Bf16> mixture(rows, 3, 2, 72, 40);
    std::vector<StepRow> step(rows, StepRow{.token = 0, .position = 0, .slot = 0});
    choose_unevenly(mixture, step);
    mixture.choices[0] = 1, mixture.choices[1] = 2;
    mixture.run<kRows>(step);
    return std::vector<float>(mixture.sums.begin(), mixture.sums.begin() + 72);
  };
  const std::vector<float> alone = run.operator()<16>(1);
  CHECK(alone == run.operator()<16>(30));
  CHECK(alone == run.operator()<64>(90));
}

TEST_CASE("the shared expert's result is added, by its gate if it has one", "[cuda]") {
  const bool is_gated = GENERATE(false, true);
  const std::vector<float> results = random_floats(2 * 8, 1), shared = random_floats(8, 2), weights = {0.25f, 0.5f},
                           logits = {9, 0.7f, 9};
  const std::vector<int32_t> entries = {1, 0};
  const StepRow row{.token = 0, .position = 0, .slot = 0};
  std::vector<float> sums(8, NAN);
  test::run_kernel(CombineExperts{.results = results.data(),
                                  .entries = entries.data(),
                                  .weights = weights.data(),
                                  .shared_result = shared.data(),
                                  .shared_gate = is_gated ? logits.data() + 1 : nullptr,
                                  .rows = &row,
                                  .sums = sums.data(),
                                  .num_rows = 1,
                                  .hidden = 8,
                                  .chosen = 2,
                                  .gate_stride = 3});
  const double factor = is_gated ? 1 / (1 + std::exp(-0.7)) : 1;
  for (int64_t j = 0; j < 8; ++j)
    CHECK(is_near(sums[j], factor * shared[j] + 0.25 * results[8 + j] + 0.5 * results[j]));
}

}  // namespace roll
