// Converts a chat message to the form that Hugging Face chat templates expect.
#pragma once

#include <array>

#include "base/json.h"

namespace roll {

/// Keys under which a message or a row of a data set may hold the model's reasoning text. If several have a value, the
/// first in this list counts.
inline constexpr std::array kReasoningKeys{"reasoning_content", "thinking", "reasoning"};

/// Returns a copy of `message` (a JSON object) without keys whose value is null; messages from Parquet have all keys,
/// some null. If there is reasoning, the copy has it under two keys: reasoning_content, and thinking, which gpt-oss
/// templates read.
Json template_message(const Json& message);

}  // namespace roll
