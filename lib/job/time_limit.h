// Until when a job may run: --time-limit, and the batch system's own limit.
#pragma once

#include <optional>
#include <string>

namespace roll {

/// Seconds of "90m" (s, m, h, d), "23:55:00", "1-12:00:00" and the other forms that Slurm writes with a colon or a
/// dash ("55:00" is minutes and seconds, "1-12" a day and hours), or a plain number of seconds. UserError, which `what`
/// opens: none of these, or not above 0.
double parse_time_limit(const std::string& text, const std::string& what);

/// When (seconds since 1970-01-01 UTC) the ranks are to stop, which is the earlier of
///   the flag's time, counted from the start of the first process of the job, restarts included
///   SLURM_JOB_END_TIME less 5 % of the job's time, at least 60 s (or half of it) and at most 10 min: for finishing a
///   step and saving
/// nullopt: never. Leaves it in the environment (ROLL_STOP_AT_MS), where all later processes of the job find it.
/// UserError.
std::optional<double> time_limit(const std::optional<std::string>& flag);

}  // namespace roll
