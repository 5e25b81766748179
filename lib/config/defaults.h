// Hydra's `defaults:` list, as far as existing recipes use it: files whose keys are defaults for the file itself.
// load.h uses it.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Reads the files in `root`'s list, relative to the folder of `origin`, and merges their keys into `root`. The file
/// wins over its list; later entries win over earlier ones. Entries without a file, or for a package other than _here_
/// or _global_, are ignored. Each file read is reported in `notes`. UserError: a file is invalid YAML, or files include
/// each other more than ten deep.
void merge_defaults(Node& root, const std::string& origin, std::vector<std::string>& notes);

}  // namespace roll
