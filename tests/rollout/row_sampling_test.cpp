#include "rollout/row_sampling.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "rollout/draw_row.h"

namespace roll {

namespace {

SamplingSettings plain(double temperature = 1) {
  SamplingSettings args;
  args.temperature = temperature;
  args.top_p = 1;
  args.top_k = 0;
  return args;
}

std::vector<float> normal_logits(int64_t n, double scale, uint64_t seed) {
  std::vector<float> logits(n);
  for (int64_t i = 0; i < n; ++i) {
    logits[i] = static_cast<float>(
        scale * random_normal({.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)}));
  }
  return logits;
}

DrawnToken draw_once(const SamplingSettings& args, std::span<const float> logits, double uniform,
                     std::span<const int64_t> prompt = {}) {
  RowSampler sampler;
  return draw_by_args(sampler, logits, args, TokenHistory(args, prompt), uniform);
}

std::vector<float> changed(std::vector<float> logits, const SamplingSettings& args, const TokenHistory& history) {
  for (const TouchedToken& token : history.touched())
    logits[token.token] = touched_logit(logits[token.token], token, row_sampling(args));
  return logits;
}

/// The definition in float64 by full sorts: nothing shared with the sampler.
std::vector<double> exact_distribution(const SamplingSettings& args, const std::vector<float>& logits) {
  const size_t n = logits.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  std::vector<double> p(n);
  for (size_t i = 0; i < n; ++i) p[i] = std::exp((logits[i] - logits[order[0]]) / args.temperature);
  const auto normalise = [&] {
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
  };
  if (args.top_k > 0) {
    for (size_t i = args.top_k; i < n; ++i)
      if (logits[order[i]] < logits[order[args.top_k - 1]]) p[order[i]] = 0;
  }
  normalise();
  double before = 0;
  for (const size_t i : order) {
    const double own = p[i];
    if (before >= args.top_p) p[i] = 0;
    before += own;
  }
  normalise();
  const double least = args.min_p * p[order[0]];
  for (double& x : p) x = x < least ? 0 : x;
  normalise();
  return p;
}

/// Upper tail of the chi-square distribution by Wilson and Hilferty's normal approximation.
double chi_square_p_value(double statistic, double freedom) {
  const double v = 2 / (9 * freedom);
  return 0.5 * std::erfc((std::cbrt(statistic / freedom) - (1 - v)) / std::sqrt(2 * v));
}

/// 200,000 named draws against `expected`; also fails on a token of probability 0.
double p_value_of_draws(const SamplingSettings& args, const std::vector<float>& logits,
                        const std::vector<double>& expected) {
  constexpr int64_t kDraws = 200000;
  std::vector<double> counts(logits.size());
  RowSampler sampler;
  const TokenHistory history(args, {});
  for (int64_t i = 0; i < kDraws; ++i) {
    const double uniform = random_uniform({.seed = 11, .sequence = static_cast<uint64_t>(i), .position = 3});
    ++counts[draw_by_args(sampler, logits, args, history, uniform).token];
  }
  double statistic = 0;
  int64_t cells = 0;
  double rest_count = 0, rest_expected = 0;  // cells under 8 expected draws go together
  for (size_t t = 0; t < counts.size(); ++t) {
    const double e = expected[t] * kDraws;
    if (e == 0) REQUIRE(counts[t] == 0);
    if (e < 8) {
      rest_count += counts[t];
      rest_expected += e;
      continue;
    }
    statistic += (counts[t] - e) * (counts[t] - e) / e;
    ++cells;
  }
  if (rest_expected >= 8) {
    statistic += std::pow(rest_count - rest_expected, 2) / rest_expected;
    ++cells;
  }
  REQUIRE(cells >= 2);
  return chi_square_p_value(statistic, static_cast<double>(cells - 1));
}

}  // namespace

TEST_CASE("200,000 draws follow the exact distribution", "[rollout]") {
  SamplingSettings args = plain();
  int64_t vocab_size = 100;
  SECTION("plain") {}
  SECTION("temperature 0.7") {
    args.temperature = 0.7;
  }
  SECTION("temperature 2.5") {
    args.temperature = 2.5;
  }
  SECTION("top_k 7") {
    args.top_k = 7;
  }
  SECTION("top_k over a large vocabulary") {
    args.top_k = 20;
    vocab_size = 3000;
  }
  SECTION("top_p 0.8") {
    args.top_p = 0.8;
  }
  SECTION("top_p over a large vocabulary") {
    args.top_p = 0.35;
    vocab_size = 3000;
  }
  SECTION("min_p 0.1") {
    args.min_p = 0.1;
  }
  SECTION("temperature, top_k and top_p") {
    args.temperature = 1.4;
    args.top_k = 30;
    args.top_p = 0.7;
  }
  SECTION("all four") {
    args.temperature = 0.9;
    args.top_k = 25;
    args.top_p = 0.9;
    args.min_p = 0.03;
  }
  const auto logits = normal_logits(vocab_size, 1.5, 5);
  // Seeds are fixed, so this either always holds or never; a right sampler fails one seed in a thousand.
  CHECK(p_value_of_draws(args, logits, exact_distribution(args, logits)) > 1e-3);
}

TEST_CASE("the chi-square test sees a temperature that is a little off", "[rollout]") {
  const auto logits = normal_logits(100, 1.5, 5);
  CHECK(p_value_of_draws(plain(), logits, exact_distribution(plain(1.05), logits)) < 1e-6);
}

TEST_CASE("the set of possible tokens is the exact one for many random rows", "[rollout]") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SamplingSettings args = plain(0.5 + 0.05 * static_cast<double>(seed % 20));
    if (seed % 3 != 0) args.top_k = 1 + static_cast<int64_t>(seed % 40) * 3;
    if (seed % 4 != 0) args.top_p = 0.02 + 0.97 * static_cast<double>(seed % 13) / 13;
    if (seed % 5 == 0) args.min_p = 0.2;
    if (args.top_k == 1) args.top_k = 2;  // one token is greedy: another path
    auto logits = normal_logits(257, 2, seed);
    for (size_t i = 0; i < logits.size(); i += 3) logits[i] = std::round(logits[i] * 2) / 2;  // ties
    const auto expected = exact_distribution(args, logits);
    RowSampler sampler;
    const TokenHistory history(args, {});
    // The inverse CDF, read back at the middle of every possible token's interval, gives that token.
    double before = 0;
    for (size_t t = 0; t < expected.size(); ++t) {
      if (expected[t] < 1e-6) {
        before += expected[t];
        continue;
      }
      CAPTURE(seed, t, args.top_k, args.top_p, args.min_p);
      REQUIRE(draw_by_args(sampler, logits, args, history, before + expected[t] / 2).token == static_cast<int64_t>(t));
      before += expected[t];
    }
  }
}

TEST_CASE("possible tokens and their probabilities are those of Hugging Face's processors", "[rollout]") {
  const Json golden = read_json(ROLL_SOURCE_DIR "/tests/golden/rollout/processors.json");
  for (const Json& item : golden["cases"]) {
    SamplingSettings args = plain(item["args"].value("temperature", 1.0));
    args.top_k = item["args"].value("top_k", 0);
    args.top_p = item["args"].value("top_p", 1.0);
    args.min_p = item["args"].value("min_p", 0.0);
    args.repetition_penalty = item["args"].value("repetition_penalty", 1.0);
    if (item["args"].contains("logit_bias"))
      for (const auto& [token, bias] : item["args"]["logit_bias"].items())
        args.logit_bias[std::stoll(token)] = bias.get<double>();
    const auto logits = item["logits"].get<std::vector<float>>();
    const TokenHistory history(args, item["ids"].get<std::vector<int64_t>>());
    RowSampler sampler;
    CAPTURE(to_line(item["args"]));
    // Just inside both ends of every token's interval of the inverse CDF.
    double before = 0;
    for (size_t t = 0; t < logits.size(); ++t) {
      const auto p = item["probabilities"][t].get<double>();
      CAPTURE(t, p, before);
      if (p > 1e-5) {
        const DrawnToken drawn = draw_by_args(sampler, logits, args, history, before + 2e-6);
        REQUIRE(drawn.token == static_cast<int64_t>(t));
        REQUIRE(drawn.processed_log_prob == Approx(std::log(p)).margin(1e-5 + 1e-6 / p));
        REQUIRE(draw_by_args(sampler, logits, args, history, before + p - 2e-6).token == static_cast<int64_t>(t));
      }
      before += p;
    }
    CHECK(before == Approx(1).margin(1e-6));
  }
}

TEST_CASE("the inverse CDF finds every token across its blocks", "[rollout]") {
  std::vector<float> logits(5000, -100.0f);  // probability 0
  for (const int64_t t : {0, 1023, 1024, 2500, 4999}) logits[t] = 0;
  RowSampler sampler;
  const TokenHistory history(plain(), {});
  const int64_t expected[] = {0, 1023, 1024, 2500, 4999};
  for (int i = 0; i < 5; ++i)
    CHECK(draw_by_args(sampler, logits, plain(), history, 0.2 * i + 0.1).token == expected[i]);
  CHECK(draw_by_args(sampler, logits, plain(), history, 0).token == 0);
  CHECK(draw_by_args(sampler, logits, plain(), history, 1 - 0x1.0p-53).token == 4999);
}

TEST_CASE("greedy takes the first of the largest logits", "[rollout]") {
  const std::vector<float> logits = {0.5f, 2, 1, 2, 2};
  SamplingSettings args = plain(0);
  CHECK(draw_once(args, logits, 0.99).token == 1);
  args = plain(1);
  args.top_k = 1;
  CHECK(draw_once(args, logits, 0.99).token == 1);
}

TEST_CASE("the log-prob is that of the untruncated distribution at the temperature", "[rollout]") {
  const auto logits = normal_logits(300, 3, 9);
  SamplingSettings args = plain(0.6);
  args.top_k = 5;
  args.top_p = 0.5;
  args.repetition_penalty = 1.7;
  args.frequency_penalty = 0.4;
  const std::vector<int64_t> prompt = {3, 7, 200};
  const double temperature = GENERATE(0.6, 0.0);
  args.temperature = temperature;
  const double scale = temperature == 0 ? 1 : 1 / temperature;
  const DrawnToken draw = draw_once(args, logits, 0.4, prompt);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) * scale);
  CHECK(draw.log_prob == Approx(logits[draw.token] * scale - std::log(sum)).margin(1e-6));
}

TEST_CASE("log-probs hold over large logits and wide ranges", "[rollout]") {
  const std::vector<float> logits = {30000, 29999, 29900, -30000};
  const DrawnToken draw = draw_once(plain(), logits, 0.9);
  CHECK(draw.token == 1);
  CHECK(draw.log_prob == Approx(-1 - std::log(1 + std::exp(-1))).margin(2e-6));
}

TEST_CASE("penalties change the logits as defined", "[rollout]") {
  const std::vector<float> logits = {2, -2, 1, 0.5f};
  SamplingSettings args = plain(0);
  SECTION("repetition divides a positive logit") {
    args.repetition_penalty = 2.5;
    CHECK(draw_once(args, logits, 0, std::vector<int64_t>{0}).token == 2);
  }
  SECTION("repetition multiplies a negative logit") {
    args.repetition_penalty = 2;
    CHECK(changed(logits, args, TokenHistory(args, std::vector<int64_t>{0, 1, 1})) ==
          std::vector<float>{1, -4, 1, 0.5f});
  }
  SECTION("frequency and presence count response tokens only") {
    args.frequency_penalty = 0.25;
    args.presence_penalty = 0.5;
    TokenHistory history(args, std::vector<int64_t>{3, 3});
    history.add(0), history.add(0), history.add(2);
    CHECK(changed(logits, args, history) == std::vector<float>{1, -2, 0.25f, 0.5f});
  }
}

TEST_CASE("logits that are no numbers are an error", "[rollout]") {
  const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  std::vector<float> logits = normal_logits(40, 1, 1);
  logits[33] = bad;
  CHECK_THROWS_AS(draw_once(plain(), logits, 0.5), SystemError);
  const std::vector<float> nothing(40, -std::numeric_limits<float>::infinity());
  CHECK_THROWS_AS(draw_once(plain(0), nothing, 0.5), SystemError);
  logits[33] = -std::numeric_limits<float>::infinity();
  CHECK_NOTHROW(draw_once(plain(), logits, 0.5));
}

TEST_CASE("what is exactly on a boundary: top_p keeps no token more, min_p keeps its token, a number its block",
          "[rollout]") {
  const std::vector<float> equal(10, 0.5f);
  const auto drawn = [&](const SamplingSettings& args, const std::vector<float>& logits) {
    std::vector<bool> seen(logits.size());
    for (int i = 0; i < 100; ++i) seen[draw_once(args, logits, i / 100.0).token] = true;
    return std::count(seen.begin(), seen.end(), true);
  };
  SamplingSettings args = plain();
  args.top_p = 0.5;
  CHECK(drawn(args, equal) == 5);
  args.top_p = 0.35;
  CHECK(drawn(args, equal) == 4);
  args.top_p = 1;
  args.min_p = 1;
  CHECK(drawn(args, {1, 3, 3, 2}) == 2);
  CHECK(draw_once(plain(), std::vector<float>{1, 1}, 0.5).token == 1);
  CHECK(draw_once(plain(), std::vector<float>(2048, 1), 0.5).token == 1024);
}

TEST_CASE("the log-prob of a penalised token is that without the penalty", "[rollout]") {
  SamplingSettings args = plain();
  args.repetition_penalty = 2;
  const std::vector<float> logits = {4, 0};
  const DrawnToken draw = draw_once(args, logits, 0, std::vector<int64_t>{0});
  CHECK(draw.token == 0);
  CHECK(draw.log_prob == Approx(-std::log1p(std::exp(-4))));
}

TEST_CASE("a bias moves a logit before the penalties do, and the log-prob says nothing of it", "[rollout]") {
  SamplingSettings args = plain(0);
  args.logit_bias = {{1, 3.0}, {2, -1.5}};
  args.repetition_penalty = 2;
  const std::vector<float> logits = {2, -2, 1, 0.5f};
  CHECK(changed(logits, args, TokenHistory(args, std::vector<int64_t>{1, 2})) == std::vector<float>{2, 0.5f, -1, 0.5f});
  args = plain(0.5);
  args.logit_bias = {{3, 100.0}};
  const DrawnToken draw = draw_once(args, logits, 0.5);
  CHECK(draw.token == 3);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(2.0 * logit);
  CHECK(draw.log_prob == Approx(1.0 - std::log(sum)).margin(1e-6));
  CHECK(draw.processed_log_prob == Approx(0).margin(1e-6));
}

TEST_CASE("the processed log-prob is that of the set from which the token was drawn", "[rollout]") {
  SamplingSettings args = plain(0.7);
  args.top_k = 20;
  args.top_p = 0.8;
  const auto logits = normal_logits(300, 2, 4);
  const auto exact = exact_distribution(args, logits);
  const double uniform = GENERATE(0.01, 0.3, 0.6, 0.99);
  const DrawnToken draw = draw_once(args, logits, uniform);
  CHECK(draw.processed_log_prob == Approx(std::log(exact[draw.token])).margin(2e-6));
  CHECK(draw.log_prob < draw.processed_log_prob);
  CHECK(draw_once(plain(0.7), logits, uniform).processed_log_prob == draw_once(plain(0.7), logits, uniform).log_prob);
  CHECK(draw_once(plain(0), logits, uniform).processed_log_prob == 0);
}

}  // namespace roll
