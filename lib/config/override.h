// Overrides of the command line: `a.b=c`, Hydra's `+a.b=c` and `++a.b=c` (the same here), and `~a.b` (removes the key).
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Applies them in order. The value is YAML (`[1,2]`, `null`, `"text"`); its place is "command line".
/// UserError: no `=`, an empty key, a value that is no YAML, a path through something that is no mapping.
void apply_overrides(Node& root, const std::vector<std::string>& overrides);

}  // namespace roll
