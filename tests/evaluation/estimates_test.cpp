#include "evaluation/estimates.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {
namespace {

const JudgedAnswer kRight{.is_right = true, .answer = "4"};
JudgedAnswer wrong(const std::string& answer) {
  return {.is_right = false, .answer = answer};
}

}  // namespace

TEST_CASE("pass@k counts the draws of k without a right one", "[evaluation]") {
  const PromptSamples samples{kRight, wrong("5"), wrong("6"), wrong("7")};
  CHECK(pass_at(samples, 1) == 0.25);
  CHECK(pass_at(samples, 2) == 0.5);  // 3 of 6 pairs have it
  CHECK(pass_at(samples, 4) == 1);
  CHECK(pass_at({wrong("5"), wrong("5")}, 2) == 0);
  CHECK_THROWS_AS(pass_at(samples, 5), Bug);
  CHECK_THROWS_AS(pass_at(samples, 0), Bug);
}

TEST_CASE("a majority is right, ties are shared, and no answer is no vote", "[evaluation]") {
  CHECK(majority_at({kRight, kRight, wrong("5")}, 3) == 1);
  CHECK(majority_at({kRight, wrong("5"), wrong("5")}, 3) == 0);
  CHECK(majority_at({kRight, wrong(""), wrong("")}, 3) == 1);
  CHECK(majority_at({kRight, wrong("5")}, 2) == 0.5);
  CHECK(majority_at({kRight, {.is_right = true, .answer = "4.0"}, wrong("5"), wrong("5")}, 4) == 0.5);
  CHECK(majority_at({kRight, kRight, wrong("5"), wrong("5"), kRight}, 2) == 0.5);  // the fifth is in no whole run
  CHECK(majority_at({wrong("5")}, 1) == 0);
}

TEST_CASE("a mean over prompts has an error where there are two", "[evaluation]") {
  CHECK_FALSE(estimate_mean(std::vector<double>{}).has_value());
  const auto one = estimate_mean(std::vector<double>{0.25});
  CHECK((one->mean == 0.25 && !one->standard_error));
  const auto some = estimate_mean(std::vector<double>{0, 1, 0, 1});
  CHECK(some->mean == 0.5);
  CHECK(*some->standard_error == Approx(0.28867513459481287));  // statistics.stdev([0, 1, 0, 1]) / 2
}

}  // namespace roll
