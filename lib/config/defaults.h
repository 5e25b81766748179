// Hydra's `defaults:` list, as far as recipes of others use it: files whose keys stand below those of the file itself.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Reads the files that `root`'s list names, from the folder of `origin` on, and puts their keys below its own: the
/// file wins over its list, and what comes later in the list over what comes before. A name that is no file there, or
/// that goes to another package than _here_ or _global_, is left as it is. Each file that was read is told in `notes`.
/// UserError: a file that is no YAML, or files that name each other without end.
void merge_defaults(Node& root, const std::string& origin, std::vector<std::string>& notes);

}  // namespace roll
