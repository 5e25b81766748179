// How a folder that was loaded stores what its model's parameters (spec.h) do not tell, so that it is saved alike.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/hf_folder.h"

namespace roll {

struct FolderForm {
  NamedTensors kept = {};                 // weights that the model does not compute with, saved as they are read
  std::vector<NamePrefix> prefixes = {};  // the folder's names, if they are not roll's
  std::map<std::string, std::string> copies = {};  // names of kept weights that copy a parameter, and its name
  std::set<std::string> transposed = {};           // roll's names of stacked experts that the folder has transposed
};

}  // namespace roll
