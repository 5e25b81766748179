// Command-line overrides of configuration keys: `a.b=c` sets a key, as do Hydra's `+a.b=c` and `++a.b=c`; `~a.b`
// removes a key.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Applies the overrides to the tree `root` in order. Missing mappings on a key's path are created. A value is YAML
/// (`[1,2]`, `null`, `"text"`); its place is "command line". Throws UserError if an override has no `=` or an empty
/// key, or its value is invalid YAML. Also throws it if the path leads through a value that is not a mapping, or `~`
/// names a key that is not set.
void apply_overrides(Node& root, const std::vector<std::string>& overrides);

}  // namespace roll
