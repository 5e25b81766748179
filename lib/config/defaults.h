// Reads Hydra's `defaults:` list, as far as existing recipes use it: the list names further files, and their keys are
// defaults for the file itself. Used by read_tree().
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace roll {

/// Reads the files that the key `defaults` of `root` lists, and adds to `root` the keys that it lacks. `origin` is the
/// path of root's file; entries are relative to its folder. Later entries win over earlier ones. Entries whose file
/// does not exist, or that have a package other than _here_ or _global_ (`name@package`), are ignored. Appends a note
/// to `notes` for each file that is read. Throws UserError if a file is invalid YAML, or files include each other more
/// than ten levels deep.
void merge_defaults(Node& root, const std::string& origin, std::vector<std::string>& notes);

}  // namespace roll
