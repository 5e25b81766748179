#include "forecast/length_trial.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace roll {

TEST_CASE("a response's length follows from how often one ended, also where most were still going on", "[forecast]") {
  CHECK(expected_length(1000, 0, 256) == 256);
  CHECK(expected_length(1000, 100, 1 << 20) == Approx(10));  // all ended: their mean
  CHECK(expected_length(2560, 10, 256) == Approx(256 * (1 - std::exp(-1.0))));
  CHECK(expected_length(10, 10, 256) == Approx(1).margin(1e-9));
}

TEST_CASE("a response has ended by an end token or a stop string, not by its length or an abort", "[forecast]") {
  CHECK(has_ended(FinishReason::kStop));
  CHECK(has_ended(FinishReason::kStopString));
  CHECK_FALSE(has_ended(FinishReason::kLength));
  CHECK_FALSE(has_ended(FinishReason::kAbort));
}

}  // namespace roll
