// Values as models write them that do not write JSON: Gemma's {key:<|"|>text<|"|>,n:1}, and Python's (key='text', n=1).
#pragma once

#include <optional>
#include <string>

#include "environment/call_text.h"

namespace roll {

/// The object that begins here, as JSON text; empty where it does not end. Keys need no quotes, and stand before : or
/// =. Texts stand between " or ', with a backslash before what does not mean itself, or between two <|"|> or <escape>,
/// where all means itself; other words that are no number, true, false, null or Python's True, False and None are
/// texts, too. Outermost ( ) are { }, inner ones a list. Whether the outcome is JSON is left to whoever parses it.
std::optional<std::string> take_loose_json(CallText& in);

}  // namespace roll
