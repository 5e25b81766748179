#include "data/curriculum.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("shares go in a straight line from one step of a schedule to the next, and stay behind the last", "[data]") {
  using Shares = std::map<std::string, double>;
  const Shares first{{"a", 1}, {"b", 0}};
  const std::vector<ScheduledShares> schedule{{5, {{"a", 0.5}, {"b", 0.5}}}, {7, {{"b", 0.25}, {"c", 0.75}}}};
  CHECK(shares_at(first, schedule, 1) == first);
  CHECK(shares_at(first, schedule, 2) == Shares{{"a", 0.875}, {"b", 0.125}});
  CHECK(shares_at(first, schedule, 4) == Shares{{"a", 0.625}, {"b", 0.375}});
  CHECK(shares_at(first, schedule, 5) == Shares{{"a", 0.5}, {"b", 0.5}, {"c", 0}});
  CHECK(shares_at(first, schedule, 6) == Shares{{"a", 0.25}, {"b", 0.375}, {"c", 0.375}});
  CHECK(shares_at(first, schedule, 7) == Shares{{"b", 0.25}, {"c", 0.75}});
  CHECK(shares_at(first, schedule, 1000) == Shares{{"b", 0.25}, {"c", 0.75}});
  CHECK(shares_at(first, {}, 1000) == first);
}

TEST_CASE("a row counts by how far its pass rate is from none and all", "[data]") {
  PassRates rates(7);
  CHECK(rates.text() == "~~~~~~~");
  const double told[] = {0, 0.125, 0.25, 0.5, 0.75, 1};
  for (int64_t row = 0; row < 6; ++row) rates.set(row, told[row]);
  CHECK(rates.text() == "#*1?M[~");
  for (int64_t row = 0; row < 6; ++row) {
    const double p = told[row];
    CHECK(rates.weight(row, 0.01) == std::max(0.01, 4 * p * (1 - p)));
  }
  CHECK(rates.weight(1, 0.5) == 0.5);  // 0.4375
  CHECK(rates.weight(6, 0.01) == 1);   // not known
  rates.set(6, -3), rates.set(5, 7), rates.set(0, 1);
  CHECK(rates.text() == "[*1?M[#");
}

TEST_CASE("pass rates of other rows are not taken", "[data]") {
  PassRates rates(3);
  CHECK(rates.load("#~["));
  for (const char* text : {"#~", "#~[[", "#~\\", "#~\"", ""}) CHECK_FALSE(rates.load(text));
  CHECK(rates.text() == "#~[");
}

}  // namespace roll
