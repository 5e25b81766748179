#include "records/informative_groups.h"

#include <catch2/catch.hpp>

namespace {

using Responses = std::vector<roll::ScoredResponse>;

// Means 0.5, 0.5, 0.75, 0.25; group 1 disagrees most.
const Responses kStep = {{0, 0.5}, {0, 0.5}, {1, 0}, {1, 1}, {2, 0.5}, {2, 1}, {3, 0.25}, {3, 0.25}};

}  // namespace

TEST_CASE("groups are told by mean, spread and extremes") {
  const auto groups = roll::summarise_groups(kStep);
  REQUIRE(groups.size() == 4);
  CHECK(groups[1].mean == 0.5);
  CHECK(groups[1].spread == 0.5);
  CHECK(groups[1].best == 3);
  CHECK(groups[1].worst == 2);
  CHECK(groups[0].spread == 0);
  const auto telling = roll::informative_groups(groups);
  CHECK(telling.best == 2);
  CHECK(telling.worst == 3);
  CHECK(telling.mixed == std::vector<size_t>{1, 2});
}

TEST_CASE("responses are chosen from disagreement first, then from the best and the worst group") {
  CHECK(roll::informative_responses(kStep, 0).empty());
  CHECK(roll::informative_responses(kStep, 1) == std::vector<int64_t>{3});
  CHECK(roll::informative_responses(kStep, 2) == std::vector<int64_t>{2, 3});
  CHECK(roll::informative_responses(kStep, 4) == std::vector<int64_t>{2, 3, 5, 6});
  CHECK(roll::informative_responses(kStep, 99) == std::vector<int64_t>{2, 3, 4, 5, 6});
}

TEST_CASE("a step in which all agree has one telling response of the best and one of the worst group") {
  CHECK(roll::informative_responses({{0, 1}, {0, 1}, {1, 0}, {1, 0}}, 4) == std::vector<int64_t>{0, 2});
  CHECK(roll::informative_responses({{0, 1}, {0, 1}}, 4) == std::vector<int64_t>{0});
}

TEST_CASE("responses that were not judged tell nothing") {
  CHECK(roll::informative_responses({{0, 9, false}, {0, 1}, {1, 0, false}}, 4) == std::vector<int64_t>{1});
  CHECK(roll::informative_responses({{0, 9, false}}, 4).empty());
}

TEST_CASE("equal scores whose mean is rounded do not disagree") {
  const auto groups = roll::summarise_groups({{0, 0.1}, {0, 0.1}, {0, 0.1}});
  CHECK(groups[0].spread == 0);
}
