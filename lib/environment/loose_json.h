// Parser of tool-call arguments that are not written as JSON: Gemma's {key:<|"|>text<|"|>,n:1}, and Python's
// (key='text', n=1). For marked_calls.cpp.
#pragma once

#include <optional>
#include <string>

#include "environment/call_text.h"

namespace roll {

/// Converts the object at the reading position of `in` to JSON text, and moves the position past the object. Returns
/// nullopt if there is no object or it does not end; the position is then undefined. Keys need no quotes, and are
/// followed by : or =. Strings are in " or ' with backslash escapes, or in <|"|> or <escape> without escapes. Other
/// words are strings, too, unless they are a number, true, false, null, True, False or None. An outermost ( ) becomes
/// an object, an inner one a list. The caller must check that the result is valid JSON.
std::optional<std::string> take_loose_json(CallText& in);

}  // namespace roll
