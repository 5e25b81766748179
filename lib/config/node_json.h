// Converts a configuration's tree to JSON, for programs that do not read YAML.
#pragma once

#include "base/json.h"
#include "config/node.h"

namespace roll {

/// Returns the tree as JSON. Plain scalars become null, booleans or numbers if they look so; others become strings.
Json to_json(const Node& node);

}  // namespace roll
