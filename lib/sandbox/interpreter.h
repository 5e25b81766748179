// Finds the Python interpreter that runs programs in a sandbox, and the folders that it needs.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct Interpreter {
  std::string program;               // absolute path
  std::vector<std::string> folders;  // installation folders, absolute; without the system's
};

/// Runs `python` (a path, or a name on PATH) to find out. UserError: it does not exist or answer, is older than 3.9, or
/// is installed in / or directly in /tmp or /dev/shm.
Interpreter find_interpreter(const std::string& python);

}  // namespace roll
