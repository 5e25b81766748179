#include "optim/update_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "step/step_metrics.h"

namespace roll {

namespace {

/// Backward ends at 10 s: the first bucket is hidden, the second in half, the third not at all.
UpdateTrace three_buckets() {
  return {.begin_s = 2,
          .last_begin_s = 6,
          .last_end_s = 10,
          .reduced_s = 14,
          .end_s = 15,
          .buckets = {{.bucket = 2, .bytes = 64, .ready_s = 6.5, .begin_s = 7, .end_s = 8},
                      {.bucket = 1, .bytes = 32, .ready_s = 7, .begin_s = 9, .end_s = 11},
                      {.bucket = 0, .bytes = 16, .ready_s = 10, .begin_s = 11, .end_s = 14}}};
}

}  // namespace

TEST_CASE("what a reduction took and what of it lay beside backward", "[train]") {
  const UpdateTrace trace = three_buckets();
  CHECK(trace.reduce_s() == 1 + 2 + 3);
  CHECK(trace.hidden_s() == 1 + 1 + 0);
  Metrics metrics;
  add_reduction_metrics("actor_train", trace, metrics);
  add_reduction_metrics("actor_train", trace, metrics);
  const MetricValues expected = {{"comm/actor_train/reduce_hidden_s", 4}, {"comm/actor_train/reduce_s", 12}};
  MetricValues values = metrics.values();
  std::sort(values.begin(), values.end());
  CHECK(values == expected);
}

TEST_CASE("what was sent becomes metrics, where anything was", "[train]") {
  Traffic traffic;
  traffic.set_phase("train_actor");
  traffic.add_call("tp", "all_gather");
  traffic.add_bytes("tp", "all_gather", 500);
  traffic.add_call("world", "broadcast");
  Metrics metrics;
  add_traffic_metrics(traffic, metrics);
  CHECK(metrics.values() == MetricValues{{"comm/train_actor/tp/all_gather_bytes", 500}});
  CHECK(traffic.take().empty());
}

TEST_CASE("updates become spans of a Chrome trace, from the first one's begin", "[train]") {
  const Json trace = chrome_trace({{"step 1", three_buckets()}, {"step 2", three_buckets()}});
  std::vector<Json> buckets, phases;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["pid"] != 1) continue;
    (event["tid"] == 1 ? buckets : phases).push_back(event);
  }
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[1]["name"] == "bucket 1");
  CHECK(buckets[1]["ts"] == 7e6);
  CHECK(buckets[1]["dur"] == 2e6);
  CHECK(buckets[1]["args"] == Json({{"bytes", 32}, {"waited_us", 2e6}}));
  REQUIRE(phases.size() == 4);
  double end = 0;
  for (const Json& phase : phases) {
    CHECK(phase["ts"] == end);  // one after the other, without a gap
    end = phase["ts"].get<double>() + phase["dur"].get<double>();
  }
  CHECK(end == 13e6);
}

}  // namespace roll
