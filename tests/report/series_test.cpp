#include "report/series.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using roll::Json;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

roll::Series series_of(std::vector<double> values) {
  roll::Series series{{}, std::move(values)};
  for (size_t i = 0; i < series.values.size(); ++i) series.steps.push_back(static_cast<int64_t>(i) + 1);
  return series;
}

}  // namespace

TEST_CASE("a short series is drawn as it is") {
  CHECK(roll::drawn_series(series_of({1, 2.5, 3}), 3) == Json::parse(R"({"s": 1, "v": [1.0, 2.5, 3.0]})"));
  CHECK(roll::drawn_series({{1, 3, 9}, {1, 2, 3}}, 3)["s"] == Json::parse("[1, 3, 9]"));
  CHECK(roll::drawn_series({}, 3)["v"].empty());
}

TEST_CASE("a long series keeps the extremes of every bucket and the last steps") {
  std::vector<double> values(1000, 0.5);
  values[121] = -40;
  values[125] = 70;
  values[999] = 8;
  const auto buckets = roll::split_into_buckets(series_of(values), 300);
  REQUIRE(buckets.size() == 250);
  CHECK(buckets.front().first_step == 1);
  CHECK(buckets.back().last_step == 1000);
  CHECK(buckets[30].lowest == -40);
  CHECK(buckets[31].highest == 70);
  CHECK(buckets[30].mean == Approx((-40 + 3 * 0.5) / 4));
  CHECK(buckets.back().highest == 8);
  for (size_t i = 1; i < buckets.size(); ++i) CHECK(buckets[i].first_step == buckets[i - 1].last_step + 1);
}

TEST_CASE("a last bucket may be smaller, and none is larger than the others") {
  const auto buckets = roll::split_into_buckets(series_of({1, 2, 3, 4, 5}), 3);
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[2].first_step == 5);
  CHECK(buckets[2].last_step == 5);
}

TEST_CASE("values that are not finite stay visible and change no mean") {
  const auto buckets = roll::split_into_buckets(series_of({1, kNone, kNone, kNone}), 2);
  CHECK(buckets[0].mean == 1);
  CHECK(buckets[0].highest == 1);
  CHECK(std::isnan(buckets[1].mean));
  CHECK(roll::drawn_series(series_of({1, kNone, 2}), 9)["v"][1].is_null());
}

TEST_CASE("numbers on the page have 6 significant digits") {
  CHECK(roll::drawn_series(series_of({0.123456789, 27720.6151}), 9)["v"].dump() == "[0.123457,27720.6]");
}
