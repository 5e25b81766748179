#include "track/time_spent.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("the end of a run says where its time went, the longest part first, and what shortens that", "[track]") {
  MetricHistory history;
  history.add(1, {{"time/step_total", 50}, {"time/step_generate", 10}, {"time/step_train", 30}, {"time/values", 0.2}});
  CHECK(time_spent(history) == "");
  history.add(2, {{"time/step_total", 40}, {"time/step_generate", 10}, {"time/step_train", 20}, {"time/validate", 10}});
  const std::string text = time_spent(history);
  CHECK_THAT(text, Catch::StartsWith("time of 2 steps: 1 min 40 s, training 50 %, sampling 20 %, validations 10 %\n"));
  CHECK_THAT(text, Catch::Contains("to shorten training: ") && Catch::Contains("max_packed_sequence_length_train"));
}

TEST_CASE("of steps that do not say what they did, nothing is said", "[track]") {
  MetricHistory history;
  for (int64_t step = 1; step < 4; ++step) history.add(step, {{"time/step_total", 5}});
  CHECK(time_spent(history) == "");
}

}  // namespace roll
