// Parses JSON from untrusted clients of servers. Parsed JSON takes much more memory than its text ("[[],[],...]"), so
// the number of values is limited, too.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Maximum number of values in one text. A list or an object counts as 16 values, because it takes that much memory.
constexpr size_t kMaxStrangersValues = 500'000;

/// Like parse_json() (base/json.h). Throws UserError also if the text has more than kMaxStrangersValues values.
Json parse_strangers_json(std::string_view text, const std::string& origin);

}  // namespace roll
