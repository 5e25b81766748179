#include "job/time_limit.h"

#include <cstdlib>
#include <map>

#include "base/clock.h"
#include "base/env.h"
#include "error_of.h"

using namespace roll;
using roll::testing::error_of;

namespace {

/// Seconds from now to the limit, under these variables; -1: none.
double limit_under(const std::map<std::string, double>& variables, const std::optional<std::string>& flag) {
  for (const auto& [name, value] : variables) set_env(name, fmt::format("{:.0f}", value));
  const auto limit = time_limit(flag);
  for (const char* name : {"SLURM_JOB_END_TIME", "SLURM_JOB_START_TIME", "ROLL_STOP_AT_MS"}) ::unsetenv(name);
  return limit ? *limit - wall_clock_s() : -1;
}

}  // namespace

TEST_CASE("a time limit is written as people and Slurm do") {
  const auto seconds = [](const std::string& text) { return parse_time_limit(text, "--time-limit"); };
  CHECK(seconds("5400") == 5400);
  CHECK(seconds("2.5s") == 2.5);
  CHECK(seconds("90m") == 5400);
  CHECK(seconds("2h") == 7200);
  CHECK(seconds("1d") == 86400);
  CHECK(seconds("23:55:00") == 86100);
  CHECK(seconds("55:30") == 3330);
  CHECK(seconds("1-12") == 129600);
  CHECK(seconds("1-12:30") == 131400);
  CHECK(seconds("1-12:00:05") == 129605);
  for (const char* text : {"", "0", "-5", "m", "5x", "1:2:3:4", "1-", "1e9", "99999d", "00:00:00", " 5"})
    CHECK_THAT(error_of([&] { seconds(text); }),
               Catch::StartsWith(fmt::format("--time-limit = {}: must be a time above 0", text)));
}

TEST_CASE("the limit is the flag's, or Slurm's less the time to save, whichever is earlier; restarts keep it") {
  const double now = wall_clock_s();
  const auto slurm = [&](double hours) {
    return std::map<std::string, double>{{"SLURM_JOB_START_TIME", now}, {"SLURM_JOB_END_TIME", now + hours * 3600}};
  };
  CHECK(limit_under({}, std::nullopt) == -1);
  CHECK(limit_under({}, "90m") == Approx(5400).margin(30));
  CHECK(limit_under(slurm(1), std::nullopt) == Approx(3600 - 180).margin(30));  // 5 %
  CHECK(limit_under(slurm(24), std::nullopt) == Approx(86400 - 600).margin(30));
  CHECK(limit_under(slurm(0.2), std::nullopt) == Approx(720 - 60).margin(30));
  CHECK(limit_under(slurm(40.0 / 3600), std::nullopt) == Approx(20).margin(10));  // half of what is short
  CHECK(limit_under(slurm(1), "90m") == Approx(3600 - 180).margin(30));
  CHECK(limit_under(slurm(24), "90m") == Approx(5400).margin(30));
  CHECK(limit_under({{"ROLL_STOP_AT_MS", (now + 77) * 1e3}}, "90m") == Approx(77).margin(30));
}
