// Converts a chat message to the form that Hugging Face chat templates expect.
#pragma once

#include <array>

#include "base/json.h"

namespace roll {

/// Keys under which a message or a row may hold its reasoning; the first one present is used.
inline constexpr std::array kReasoningKeys{"reasoning_content", "thinking", "reasoning"};

/// Returns a copy of `message` (an object) without null keys, since structs of Parquet have all keys. Reasoning is
/// stored as reasoning_content, and as thinking, which the templates of gpt-oss read.
Json template_message(const Json& message);

}  // namespace roll
