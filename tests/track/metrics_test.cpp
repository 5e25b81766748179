#include "track/metrics.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>

#include "base/error.h"

using namespace roll;

namespace {

std::map<std::string, double> shown(const Metrics& metrics) {
  const MetricValues values = metrics.values();
  return {values.begin(), values.end()};
}

/// One of each reduction over `values`.
void add_all(Metrics& metrics, std::span<const double> values) {
  for (const char* suffix : {"mean", "sum", "max", "min", "std", "p50", "p99"})
    metrics.add_values(fmt::format("x/{}@{}", suffix, suffix), values);
}

}  // namespace

TEST_CASE("each suffix reduces as NumPy does, and is not shown", "[track]") {
  const std::vector<double> values = {3, -1, 4, 1, -5, 9, 2, 6};
  Metrics metrics;
  add_all(metrics, values);
  auto got = shown(metrics);
  CHECK(got["x/mean"] == 2.375);
  CHECK(got["x/sum"] == 19);
  CHECK(got["x/max"] == 9);
  CHECK(got["x/min"] == -5);
  CHECK(got["x/std"] == Approx(4.274091382136927).epsilon(1e-14));  // np.std(v, ddof=1)
  CHECK(got["x/p50"] == 2.5);                                       // np.percentile(v, 50)
  CHECK(got["x/p99"] == Approx(8.79).epsilon(1e-14));               // np.percentile(v, 99)
}

TEST_CASE("a mean is weighted by the true counts, and no suffix means mean", "[track]") {
  Metrics metrics;
  metrics.add("loss", 1.0, 3);
  metrics.add("loss", 5.0, 1);
  metrics.add("loss@mean", 100.0, 0);
  CHECK(shown(metrics)["loss"] == 2.0);
}

TEST_CASE("the split over micro-batches and ranks does not change the result", "[track]") {
  std::vector<double> values;
  for (int i = 0; i < 97; ++i) values.push_back((i * 37 % 101 - 50) / 64.0);
  Metrics whole, merged;
  add_all(whole, values);
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 40}, {40, 40}, {40, 97}}) {
    Metrics part;
    add_all(part, std::span(values).subspan(size_t(from), size_t(to - from)));
    merged.merge(Metrics::from(part.message()));
  }
  auto expected = shown(whole), got = shown(merged);
  REQUIRE(got.size() == 7);
  for (const char* exact : {"x/mean", "x/sum", "x/max", "x/min", "x/p50", "x/p99"})
    CHECK(got[exact] == expected[exact]);
  CHECK(got["x/std"] == Approx(expected["x/std"]).epsilon(1e-12));
}

TEST_CASE("who knows the names needs only the numbers", "[track]") {
  Metrics metrics, known, other;
  for (const char* suffix : {"mean", "sum", "max", "min", "std", "p50", "p99"})
    for (const double value : {3.0, 5.0}) metrics.add(fmt::format("x/{0}@{0}", suffix), value);
  for (const char* suffix : {"mean", "sum", "max", "min", "std", "p50", "p99"})
    known.add(fmt::format("x/{0}@{0}", suffix), 7);
  other.add("x/mean", 7);
  CHECK(metrics.has_same_names(known));
  CHECK_FALSE(metrics.has_same_names(other));
  CHECK_FALSE(metrics.has_same_names({}));
  const Metrics::Message numbers = metrics.message(/*with_names=*/false);
  CHECK(std::ssize(encode_message(numbers)) < std::ssize(encode_message(metrics.message())));
  CHECK(Metrics::from(numbers, known).values() == metrics.values());
  CHECK(Metrics::from(metrics.message(), other).values() == metrics.values());
  CHECK_THROWS_AS(Metrics::from(numbers, other), Bug);
  CHECK_THROWS_AS(Metrics::from(numbers), Bug);
}

TEST_CASE("metrics travel to the bit, and not with numbers that are not their names'", "[track]") {
  Metrics metrics;
  metrics.add("bad@max", std::nan(""));
  metrics.add("far@sum", -0.0);
  metrics.add("list@p99", 3);
  const Metrics::Message message = metrics.message();
  const std::string bytes = encode_message(message);
  CHECK(encode_message(Metrics::from(decode_message<Metrics::Message>(bytes)).message()) == bytes);
  Metrics::Message wrong = message;
  wrong.numbers.pop_back();
  CHECK_THROWS_AS(Metrics::from(wrong), Bug);
  wrong = message;
  wrong.numbers.push_back(0);
  CHECK_THROWS_AS(Metrics::from(wrong), Bug);
  wrong = message;
  wrong.lists.clear();
  CHECK_THROWS_AS(Metrics::from(wrong), Bug);
  wrong = message;
  wrong.names.begin()->second = static_cast<Metrics::Kind>(7);
  CHECK_THROWS_WITH(decode_message<Metrics::Message>(encode_message(wrong)),
                    Catch::Contains("is 7, which is no known value"));
}

TEST_CASE("tensors of any floating dtype and shape count element by element", "[track]") {
  Metrics metrics;
  metrics.add_values("a@sum", at::ones({2, 3}, at::kBFloat16));
  metrics.add_values("b", at::arange(5, at::kLong));
  metrics.add_values("c@max", at::arange(6, at::kFloat).view({2, 3}).t());
  metrics.add_values("d", at::empty({0}));
  auto got = shown(metrics);
  CHECK(got["a"] == 6);
  CHECK(got["b"] == 2);
  CHECK(got["c"] == 5);
  CHECK(got.count("d") == 0);
}

TEST_CASE("what got nothing is left out, one value has no spread, a NaN stays visible", "[track]") {
  Metrics metrics;
  metrics.add("nothing", 7, 0);
  metrics.add("one@std", 7);
  metrics.add("bad@max", 1);
  metrics.add("bad@max", std::nan(""));
  metrics.add("bad@max", 2);
  metrics.add("worse@p50", std::nan(""));
  metrics.add("worse@p50", 2);
  auto got = shown(metrics);
  CHECK(got.count("nothing") == 0);
  CHECK(got["one"] == 0);
  CHECK(std::isnan(got["bad"]));
  CHECK(std::isnan(got["worse"]));
}

TEST_CASE("a wrong suffix, weight or second reduction is a bug", "[track]") {
  Metrics metrics;
  CHECK_THROWS_WITH(metrics.add("x@meam", 1),
                    Catch::Contains("unknown suffix '@meam'") && Catch::Contains("did you mean 'mean'?"));
  CHECK_THROWS_AS(metrics.add("x@", 1), Bug);
  CHECK_THROWS_AS(metrics.add("@mean", 1), Bug);
  CHECK_THROWS_AS(metrics.add("x", 1, -1), Bug);
  metrics.add("x@max", 1);
  CHECK_THROWS_WITH(metrics.add("x@min", 1), Catch::Contains("'x' was added as @max before"));
}

TEST_CASE("a metric name from outside is the user's error", "[track]") {
  CHECK_NOTHROW(check_metric_name("my/loss@p99", "plugin.so"));
  CHECK_THROWS_AS(check_metric_name("my/loss@p95", "plugin.so"), UserError);
  CHECK_THROWS_WITH(check_metric_name("my/loss@p95", "plugin.so"),
                    Catch::StartsWith("plugin.so: metric 'my/loss@p95': unknown"));
}
