#include "track/metric_reference.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("a metric is found by its name, with any part for a star, and with its domain", "[track]") {
  const auto name_of = [](const char* name) {
    const MetricWords* row = find_metric(name);
    return std::string(row ? row->name : "none");
  };
  CHECK(name_of("kl") == "kl");
  CHECK(name_of("score/mean") == "score/*");
  CHECK(name_of("code/score/mean") == "score/*");
  CHECK(name_of("comm/train/world/all_reduce_bytes") == "comm/*/*/*_bytes");
  CHECK(name_of("comm/train/all_reduce_bytes") == "none");
  CHECK(name_of("packing/old_log_probs/fill") == "packing/*/fill");
  CHECK(name_of("score/mean/max") == "none");
  CHECK(name_of("scores/mean") == "none");
  CHECK(name_of("code/actor/lr") == "none");
}

TEST_CASE("the table of metrics holds what was asked for, under its heading", "[track]") {
  CHECK(metric_table("ENTROPY of", false) ==
        "# the policy's updates\nactor/entropy [nats]: entropy of the policy at response tokens; near 0 the policy no "
        "longer explores\n");
  CHECK(metric_table("kl_coef", true).find("## how it goes\n\n| metric | unit | meaning |") == 0);
  CHECK(metric_table("zzz", true).empty());
}

}  // namespace roll
