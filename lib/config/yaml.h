// Parses YAML text into a tree (node.h). No other code of ours uses yaml-cpp.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace roll {

/// Parses a text with one YAML document; expands anchors, aliases and merge keys. `origin` is the file's name, for
/// places and messages. With `single_line`, for overrides, places have no line and column. Throws UserError
/// "origin:line:column: ..." if the text is malformed or binary, repeats a key in a mapping, has several documents, or
/// exceeds the limits on size, depth or alias expansion.
Node parse_yaml(std::string_view text, const std::string& origin, bool single_line = false);

/// Checks the bytes of a text; parse_yaml() calls it. Throws UserError "origin:line:column: ..." if the text has
/// invalid UTF-8 or control characters, or more than 2 MB.
void check_text(std::string_view text, const std::string& origin);

}  // namespace roll
