// YAML text -> Node. The only user of yaml-cpp.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace roll {

/// Parses one document. Anchors, aliases and merge keys are expanded; UserError "origin:line:column: ..." for malformed
/// text, keys given twice, bytes that are no text, more than one document, and what is too large, too deep or grows too
/// large by its aliases to be a configuration. With `single_line` (an override) places have no line and column.
Node parse_yaml(std::string_view text, const std::string& origin, bool single_line = false);

/// UserError "origin:line:column: ...": bytes that are no UTF-8, control characters, or more than any configuration
/// has.
void check_text(std::string_view text, const std::string& origin);

}  // namespace roll
