// Where the model speaks in the text of a whole conversation.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/json.h"
#include "jinja/template.h"

namespace roll {

/// For each assistant message the text that the model is to say: all that the template writes of the message but for
/// its header. `messages` end with an assistant message, `whole` is their text, in which the model speaks last from
/// byte `last_begin` on. Headers of earlier turns may lack a thought's opening, as Qwen3.5's do. Empty: a message
/// stands nowhere by itself, or has another header.
std::optional<std::vector<Span>> spoken_turns(const jinja::Rendering& whole, const Json& messages, size_t last_begin);

}  // namespace roll
