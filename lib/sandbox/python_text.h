// Texts of the Python files in python/, which the build embeds into the program (CMakeLists.txt).
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns the prelude of every Python program: the imports that coding problems take for granted.
std::string_view prelude_text();

/// Returns the program that a sandbox's process runs.
std::string zygote_text();

/// Returns the script that runs tests on a sandbox server; callers append the call of run_remotely().
std::string remote_text();

}  // namespace roll
