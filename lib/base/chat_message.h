// A chat message as transformers hands it to a template.
#pragma once

#include <array>

#include "base/json.h"

namespace roll {

/// Keys under which a message or a row may hold its reasoning; the first that is there counts.
inline constexpr std::array kReasoningKeys{"reasoning_content", "thinking", "reasoning"};

/// Without keys that are null (structs of Parquet have all keys); reasoning is reasoning_content, and thinking, too,
/// which gpt-oss' templates read. `message`: an object.
Json template_message(const Json& message);

}  // namespace roll
