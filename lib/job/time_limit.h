// Computes when a job must stop: from --time-limit and the batch system's own limit.
#pragma once

#include <optional>
#include <string>

namespace roll {

/// Returns the seconds in "90m" (s, m, h, d), "23:55:00", "1-12:00:00" or Slurm's other forms with a colon or a dash
/// ("55:00" is minutes and seconds, "1-12" a day and hours), or in a plain number of seconds. UserError, starting with
/// `origin`: another form, not above 0, or above 1000 days.
double parse_time_limit(const std::string& text, const std::string& origin);

/// Returns when the ranks must stop (seconds since 1970-01-01 UTC), the earlier of
///   the flag's time, counted from the start of the job's first process, restarts included
///   SLURM_JOB_END_TIME less 5 % of the job's time (60 s to 10 min, at most half of the time) to finish a step and save
/// nullopt: no limit. Keeps it in ROLL_STOP_AT_MS for all later processes of the job. UserError: the flag is malformed.
std::optional<double> time_limit(const std::optional<std::string>& flag);

}  // namespace roll
