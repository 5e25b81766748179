#include "report/warnings.h"

#include <catch2/catch.hpp>

TEST_CASE("warnings of a log are found on any rank, with the lines that go on") {
  const auto warnings = roll::warnings_in(
      "policy: qwen2\nwarning: going on with another configuration:\n  a: 1 -> 2\n  b\nstep 1 | x 2\n"
      "[rank 3] warning: slow\nno warning: here\n  not this\n");
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].text == "going on with another configuration:\n  a: 1 -> 2\n  b");
  CHECK(warnings[0].count == 1);
  CHECK(warnings[0].last.empty());
  CHECK(warnings[1].text == "slow");
}

TEST_CASE("warnings that differ in numbers only are told once, with the first and the last") {
  const auto warnings = roll::warnings_in(
      "warning: step 1: skipped, norm 12\nwarning: step 2: dropped\nwarning: step 10: skipped, norm 3\n[rank 1] "
      "warning: step 11: skipped, norm 4");
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].text == "step 1: skipped, norm 12");
  CHECK(warnings[0].last == "step 11: skipped, norm 4");
  CHECK(warnings[0].count == 3);
  CHECK(warnings[1].count == 1);
}

TEST_CASE("a log without a warning has none") {
  CHECK(roll::warnings_in("").empty());
  CHECK(roll::warnings_in("step 1 | a 2\n").empty());
}
