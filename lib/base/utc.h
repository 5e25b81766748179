// The time of day as files say it, the same in every time zone.
#pragma once

#include <string>

namespace roll {

/// Now: "2026-11-28T18:12:01Z" (ISO 8601).
std::string utc_text();

}  // namespace roll
