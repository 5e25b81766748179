#include "forecast/timeline.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

ClassWork work(const char* ranks, std::map<std::string, double> seconds) {
  return {.ranks = ranks, .roles = "r", .memory_bytes = 2e9, .seconds = std::move(seconds)};
}

}  // namespace

TEST_CASE("roles apart work at the same time, and wait where all do", "[preview]") {
  const Timeline timeline = build_timeline({work("0", {{"generate", 4}, {"old_log_probs", 1}, {"train_actor", 3}}),
                                            work("1", {{"values", 2}, {"train_critic", 1}})},
                                           0);
  CHECK(timeline.seconds == 4 + 2 + 3);
  CHECK(timeline.classes[0].busy_s() == 8);
  CHECK(timeline.classes[1].busy_s() == 3);
  CHECK(to_text(timeline, 9) ==
        "a step of 9.0 s: g sampling, o old log-probs, v values, c critic, a actor\n"
        "  0    2.0 GB |ggggo.aaa| idle 11 %  r\n"
        "  1    2.0 GB |....vvc..| idle 67 %  r\n");
}

TEST_CASE("sampling ahead runs beside what learns, as much of it as may", "[preview]") {
  const std::vector<ClassWork> classes = {work("0 to 1", {{"model_update", 1}, {"reference", 2}, {"train_actor", 4}}),
                                          work("2", {{"model_update", 1}, {"generate", 8}})};
  CHECK(build_timeline(classes, 0).seconds == 1 + 8 + 6);
  CHECK(build_timeline(classes, 1).seconds == 1 + 8);
  const Timeline half = build_timeline(classes, 0.5);
  CHECK(half.seconds == 1 + 4 + 6);
  CHECK(to_text(half, 11) ==
        "a step of 11.0 s: w weights to the sampler, g sampling, r reference, a actor\n"
        "  0 to 1    2.0 GB |w....rraaaa| idle 36 %  r\n"
        "  2         2.0 GB |wgggggggg..| idle 18 %  r\n");
}

}  // namespace roll
