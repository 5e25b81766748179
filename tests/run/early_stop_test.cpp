#include "run/early_stop.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace roll {

namespace {

/// After how many of these values it is over; 0: never.
int64_t over_after(const std::vector<double>& values, const CheckpointConfig& config) {
  EarlyStop stop(config);
  for (size_t i = 0; i < values.size(); ++i) {
    stop.observe(values[i]);
    if (stop.is_over()) return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

CheckpointConfig patient(int64_t patience, double threshold = 0, bool greater = true) {
  return {.greater_is_better = greater, .early_stopping_patience = patience, .early_stopping_threshold = threshold};
}

}  // namespace

TEST_CASE("a run is over after so many measurements without a new best", "[train]") {
  CHECK(over_after({0.1, 0.2, 0.2, 0.1, 0.3}, patient(2)) == 4);
  CHECK(over_after({0.1, 0.2, 0.2, 0.3, 0.3, 0.2, 0.1}, patient(3)) == 7);
  CHECK(over_after({0.3, 0.2}, patient(1)) == 2);
  CHECK(over_after({0.3, 0.2, 0.1, 0.0}, patient(0)) == 0);
}

TEST_CASE("where smaller is better, larger is no improvement", "[train]") {
  CHECK(over_after({3, 2, 1, 0.5}, patient(2, 0, false)) == 0);
  CHECK(over_after({3, 2, 2.5, 2}, patient(2, 0, false)) == 4);
}

TEST_CASE("improvements up to the threshold do not count, and still are the best", "[train]") {
  CHECK(over_after({0.50, 0.55, 0.60, 0.65}, patient(3, 0.1)) == 4);
  CHECK(over_after({0.50, 0.55, 0.625, 0.75}, patient(3, 0.1)) == 0);
  CHECK(over_after({0.5, 0.75, 1.0}, patient(2, 0.25)) == 3);
}

TEST_CASE("a run that goes on knows how long it has waited", "[train]") {
  EarlyStop before(patient(3));
  for (const double value : {0.5, 0.4, 0.4}) before.observe(value);
  EarlyStop after(patient(3));
  after.load(before.state());
  CHECK((after.waited() == 2 && after.best() == 0.5));
  after.observe(0.45);
  CHECK(after.is_over());
  for (const Json& none : {Json(), Json::array(), Json{{"best", nullptr}, {"waited", 2}}}) {
    EarlyStop fresh(patient(3));
    fresh.load(none);
    CHECK((fresh.waited() == 0 && !fresh.best()));
  }
}

}  // namespace roll
