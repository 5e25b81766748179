// JSON from clients that nobody knows: its values may take little more memory than its text.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Values of one text. A list or an object counts as 16, since it takes as much more memory.
constexpr size_t kMaxStrangersValues = 500'000;

/// parse_json(), and UserError if the text has more than kMaxStrangersValues.
Json parse_strangers_json(std::string_view text, const std::string& origin);

}  // namespace roll
