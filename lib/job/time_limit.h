// Computes when a job must stop: from --time-limit and Slurm's limit for the job.
#pragma once

#include <optional>
#include <string>

namespace roll {

/// Returns the seconds in a text such as "90m" (units s, m, h, d), "5400" (seconds), "23:55:00" or "1-12:00:00". Reads
/// Slurm's other forms, too: "55:00" is minutes and seconds, "1-12" a day and 12 hours. `origin` names the flag in the
/// error. Throws UserError "origin = text: ..." if the text has another form, or the time is not above 0 or is above
/// 1000 days.
double parse_time_limit(const std::string& text, const std::string& origin);

/// Returns the time at which the ranks must stop, in seconds since 1970-01-01 UTC; nullopt if there is no limit. The
/// earlier of two times counts:
///  - `flag`, the value of --time-limit, counted from the first call in the job: restarts do not extend it;
///  - SLURM_JOB_END_TIME, less the time to finish a step and save: 5 % of the job's time, but 60 s to 10 min, and not
///    more than half of the job's time.
/// Stores the result in ROLL_STOP_AT_MS for all later processes of the job; if that is set already, returns its value.
/// Throws UserError if the flag is malformed.
std::optional<double> time_limit(const std::optional<std::string>& flag);

}  // namespace roll
