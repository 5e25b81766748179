// Parses JSON from untrusted clients; its values may take little more memory than its text.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Maximum values in one text. A list or an object counts as 16, for its memory.
constexpr size_t kMaxStrangersValues = 500'000;

/// Like parse_json(). UserError also when the text has more than kMaxStrangersValues.
Json parse_strangers_json(std::string_view text, const std::string& origin);

}  // namespace roll
