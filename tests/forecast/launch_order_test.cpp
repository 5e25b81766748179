#include "forecast/launch_order.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

LaunchedCall tp(int64_t number) {
  return {"tp", number, 2, false, "tp"};
}

LaunchedCall dp(int64_t number) {
  return {"dp", number, 2, false, "dp"};
}

/// The first collective of the communicator of two ranks.
LaunchedCall of(const std::string& pair, bool on_host = false) {
  return {pair, 0, 2, on_host, pair};
}

}  // namespace

TEST_CASE("collectives that ranks launch in opposite orders wait forever, if a device runs one at a time",
          "[preview]") {
  CHECK(stuck_launches({{tp(0), dp(0), tp(1)}, {tp(0), dp(0), tp(1)}}, 1).empty());
  const std::vector<std::vector<LaunchedCall>> opposite = {{tp(0), tp(1), dp(0)}, {tp(0), dp(0), tp(1)}};
  CHECK(stuck_launches(opposite, 1) ==
        "dp (call 0 on 1 of 2 ranks, such as rank 1), tp (call 1 on 1 of 2 ranks, such as rank 0)");
  CHECK(stuck_launches(opposite, 2).empty());
  CHECK(stuck_launches({{tp(0), tp(1)}, {tp(0)}}, 2) == "tp (call 1 on 1 of 2 ranks, such as rank 0)");
}

TEST_CASE("three ranks may wait in a circle in which each pair agrees", "[preview]") {
  CHECK(stuck_launches({{of("ab"), of("ca")}, {of("ab"), of("bc")}, {of("ca"), of("bc")}}, 1).empty());
  CHECK(stuck_launches({{of("ab"), of("ca")}, {of("bc"), of("ab")}, {of("ca"), of("bc")}}, 1) ==
        "ab (call 0 on 1 of 2 ranks, such as rank 0), bc (call 0 on 1 of 2 ranks, such as rank 1), "
        "ca (call 0 on 1 of 2 ranks, such as rank 2)");
}

TEST_CASE("a collective of the host waits for the device, and the device for it", "[preview]") {
  CHECK(stuck_launches({{of("gpu"), of("host", true)}, {of("gpu"), of("host", true)}}, 2).empty());
  CHECK_FALSE(stuck_launches({{of("gpu"), of("host", true)}, {of("host", true), of("gpu")}}, 2).empty());
}

TEST_CASE("collectives of one communicator run one after the other, and those behind them wait", "[preview]") {
  const std::vector<std::vector<LaunchedCall>> launches = {{tp(0), tp(1), dp(0)}, {of("b"), dp(0), tp(0)}, {of("b")}};
  CHECK(stuck_launches(launches, 3) == "tp (call 1 on 1 of 2 ranks, such as rank 0)");
}

}  // namespace roll
