// The current UTC time as text, for files and logs.
#pragma once

#include <string>

namespace roll {

/// Returns the current time as "2026-11-28T18:12:01Z" (ISO 8601).
std::string utc_text();

}  // namespace roll
