#include "job/time_limit.h"

#include <algorithm>
#include <regex>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr double kMinute_s = 60, kHour_s = 3600, kDay_s = 86400;
constexpr double kMaxLimit_s = 1000 * kDay_s;

double match_value(const std::ssub_match& match) {
  return match.matched ? std::stod(match.str()) : 0;
}

/// Returns nullopt for any other form.
std::optional<double> parse_seconds(const std::string& text) {
  static const std::regex kWithUnit(R"((\d{1,9}(?:\.\d{1,9})?)([smhd]?))");
  static const std::regex kDays(R"((\d{1,6})-(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?)");
  static const std::regex kClock(R"((?:(\d{1,6}):)?(\d{1,6}):(\d{1,6}))");
  std::smatch match;
  if (std::regex_match(text, match, kWithUnit)) {
    const std::string unit = match[2];
    return match_value(match[1]) * (unit == "m" ? kMinute_s : unit == "h" ? kHour_s : unit == "d" ? kDay_s : 1);
  }
  if (std::regex_match(text, match, kDays))
    return match_value(match[1]) * kDay_s + match_value(match[2]) * kHour_s + match_value(match[3]) * kMinute_s +
           match_value(match[4]);
  if (std::regex_match(text, match, kClock))
    return match_value(match[1]) * kHour_s + match_value(match[2]) * kMinute_s + match_value(match[3]);
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

double parse_time_limit(const std::string& text, const std::string& origin) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds <= 0 || *seconds > kMaxLimit_s)
    throw user_error("{} = {}: must be a time above 0 and up to 1000 days, such as 90m, 23:55:00, 1-12:00:00 or 5400",
                     origin, text);
  return *seconds;
}

std::optional<double> time_limit(const std::optional<std::string>& flag) {
  if (const auto stop_at_ms = env_count("ROLL_STOP_AT_MS")) return static_cast<double>(*stop_at_ms) / 1e3;
  std::optional<double> limit = slurm_limit();
  if (flag) {
    const double flag_limit = wall_clock_s() + parse_time_limit(*flag, "--time-limit");
    limit = std::min(flag_limit, limit.value_or(flag_limit));
  }
  if (limit) set_env("ROLL_STOP_AT_MS", fmt::format("{:.0f}", std::max(0.0, *limit * 1e3)));
  return limit;
}

}  // namespace roll
