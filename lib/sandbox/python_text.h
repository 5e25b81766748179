// Texts of the Python files in sandbox/python/, which the build embeds into this program (CMakeLists.txt).
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns the Python code that is run before every program to be judged: imports that coding problems assume.
std::string_view prelude_text();

/// Returns the Python program that the process of a Box runs (zygote.py), with the code that runs tests.
std::string zygote_text();

/// Returns the Python script that runs tests on a sandbox server (remote.py); callers append a call of its function
/// run_remotely() or run_together_remotely().
std::string remote_text();

}  // namespace roll
