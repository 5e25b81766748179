// Converts a configuration's tree (node.h) to JSON, for programs that do not read YAML.
#pragma once

#include "base/json.h"
#include "config/node.h"

namespace roll {

/// Returns the tree as JSON. A scalar without quotes becomes null, a boolean or a number if it is written like one; all
/// others become strings.
Json to_json(const Node& node);

}  // namespace roll
