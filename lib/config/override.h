// Command-line overrides: `a.b=c`, Hydra's `+a.b=c` and `++a.b=c` (the same here), and `~a.b` (removes the key).
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Applies the overrides in order. A value is YAML (`[1,2]`, `null`, `"text"`); its place is "command line".
/// UserError: no `=`, an empty key, an invalid YAML value, a path through a value that is not a mapping, or `~` of a
/// key that is not set.
void apply_overrides(Node& root, const std::vector<std::string>& overrides);

}  // namespace roll
