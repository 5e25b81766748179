#include "collect/cut_responses.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace roll {

namespace {

Metrics cut_share(double math, double words) {
  Metrics metrics;
  metrics.add("math/rollout/truncated_ratio", math);
  metrics.add("words/rollout/truncated_ratio", words);
  return metrics;
}

}  // namespace

TEST_CASE("a domain whose responses are all cut off is told of once, and the others are not", "[train]") {
  std::ostringstream out, err;
  Log log(out, err, {});
  CutResponses cut({"math", "words", "idle"}, 32);
  cut.warn(cut_share(0.99, 0.5), 1, log);
  CHECK(err.str().empty());
  cut.warn(cut_share(1, 0.5), 2, log);
  cut.warn(cut_share(1, 0.5), 3, log);
  CHECK_THAT(err.str(), Catch::Contains("rewards.math: every response of step 2 was cut off at 32 tokens"));
  CHECK_THAT(err.str(), !Catch::Contains("step 3"));
  CHECK_THAT(err.str(), !Catch::Contains("words"));
}

}  // namespace roll
