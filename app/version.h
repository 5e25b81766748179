// Version of the program, for --version, reports and checkpoints.
#pragma once

#include <string>

namespace roll {

/// Returns the version that CMakeLists.txt sets, e.g. "0.1.0".
const char* version();

/// Returns the version with the commit that was built: "0.1.0 (7a2066a)", or "7a2066a+" if sources had uncommitted
/// changes. The commit is missing in builds outside a git repository, e.g. from a release tarball.
std::string version_with_commit();

}  // namespace roll
