// Parser of the values of models that do not write JSON: Gemma's {key:<|"|>text<|"|>,n:1}, and Python's (key='text',
// n=1). For marked_calls.cpp.
#pragma once

#include <optional>
#include <string>

#include "environment/call_text.h"

namespace roll {

/// Takes the object that begins here and returns it as JSON text; nullopt if it does not end. Keys need no quotes; : or
/// = follows them. Strings are in " or ' with backslash escapes, or in <|"|> or <escape> without escapes. Other words
/// are strings, too, unless they are a number, true, false, null, True, False or None. The outermost ( ) are { }, inner
/// ones a list. The caller must check that the result is valid JSON.
std::optional<std::string> take_loose_json(CallText& in);

}  // namespace roll
