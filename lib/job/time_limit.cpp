#include "job/time_limit.h"

#include <algorithm>
#include <regex>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr double kMinute_s = 60, kHour_s = 3600, kDay_s = 86400;
constexpr double kLongest_s = 1000 * kDay_s;

double count_of(const std::ssub_match& match) {
  return match.matched ? std::stod(match.str()) : 0;
}

/// Returns nullopt for any other form.
std::optional<double> seconds_of(const std::string& text) {
  static const std::regex kWithUnit(R"((\d{1,9}(?:\.\d{1,9})?)([smhd]?))");
  static const std::regex kDays(R"((\d{1,6})-(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?)");
  static const std::regex kClock(R"((?:(\d{1,6}):)?(\d{1,6}):(\d{1,6}))");
  std::smatch match;
  if (std::regex_match(text, match, kWithUnit)) {
    const std::string unit = match[2];
    return count_of(match[1]) * (unit == "m" ? kMinute_s : unit == "h" ? kHour_s : unit == "d" ? kDay_s : 1);
  }
  if (std::regex_match(text, match, kDays))
    return count_of(match[1]) * kDay_s + count_of(match[2]) * kHour_s + count_of(match[3]) * kMinute_s +
           count_of(match[4]);
  if (std::regex_match(text, match, kClock))
    return count_of(match[1]) * kHour_s + count_of(match[2]) * kMinute_s + count_of(match[3]);
  return std::nullopt;
}

std::optional<double> slurm_limit() {
  const auto end = env_count("SLURM_JOB_END_TIME");
  if (!end) return std::nullopt;
  const auto end_s = static_cast<double>(*end);
  const auto begin = env_count("SLURM_JOB_START_TIME");
  const double whole_s = std::max(0.0, end_s - (begin ? static_cast<double>(*begin) : wall_clock_s()));
  return end_s - std::min(0.5 * whole_s, std::clamp(0.05 * whole_s, kMinute_s, 10 * kMinute_s));
}

}  // namespace

double parse_time_limit(const std::string& text, const std::string& what) {
  const auto seconds = seconds_of(text);
  if (!seconds || *seconds <= 0 || *seconds > kLongest_s)
    throw user_error("{} = {}: must be a time above 0 and up to 1000 days, such as 90m, 23:55:00, 1-12:00:00 or 5400",
                     what, text);
  return *seconds;
}

std::optional<double> time_limit(const std::optional<std::string>& flag) {
  if (const auto stop_at_ms = env_count("ROLL_STOP_AT_MS")) return static_cast<double>(*stop_at_ms) / 1e3;
  std::optional<double> limit = slurm_limit();
  if (flag) {
    const double own = wall_clock_s() + parse_time_limit(*flag, "--time-limit");
    limit = std::min(own, limit.value_or(own));
  }
  if (limit) set_env("ROLL_STOP_AT_MS", fmt::format("{:.0f}", std::max(0.0, *limit * 1e3)));
  return limit;
}

}  // namespace roll
