// The files of python/, as the build put them into the program (CMakeLists.txt).
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// What every Python program begins with: the imports that problems take for granted.
std::string_view prelude_text();

/// What a box's process runs.
std::string zygote_text();

/// What a sandbox server is sent to run tests; the call of run_remotely() goes behind it.
std::string remote_text();

}  // namespace roll
