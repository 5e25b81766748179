// Parses YAML text into a tree (node.h). The only user of yaml-cpp.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace roll {

/// Parses one document and expands anchors, aliases and merge keys. With `single_line` (an override), places have no
/// line and column. UserError "origin:line:column: ...": malformed text, duplicate keys, binary bytes, several
/// documents, or a text that exceeds the limits on size, depth or alias expansion.
Node parse_yaml(std::string_view text, const std::string& origin, bool single_line = false);

/// Checks the bytes of a text. UserError "origin:line:column: ...": invalid UTF-8, control characters, or over 2 MB.
void check_text(std::string_view text, const std::string& origin);

}  // namespace roll
