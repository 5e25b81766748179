// Files that come with the program: below share/roll of an installation, or in the checkout that it was built in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roll {

/// The first of `names` that is there; an installation and a checkout may have different ones. UserError: none is.
std::filesystem::path own_file(const std::vector<std::string>& names);

}  // namespace roll
