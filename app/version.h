// Which program this is.
#pragma once

#include <string>

namespace roll {

/// "0.1.0", as CMakeLists.txt says.
const char* version();

/// "0.1.0 (7a2066a)": with the commit it was built from, and "+" behind that where its sources were changed since.
/// Without one where it was not built in a repository of its own, as from a release's tarball.
std::string version_with_commit();

}  // namespace roll
