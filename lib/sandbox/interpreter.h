// Finds the Python interpreter that runs programs in a sandbox, and the folders that it needs, for box_process.h and
// boxed_program.h.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct Interpreter {
  std::string program;               // absolute path of the executable
  std::vector<std::string> folders;  // absolute paths of its installation, without /usr, which every sandbox shows
};

/// Runs `python` (a path, or a name on PATH; it may be a script that starts an interpreter), and asks the interpreter
/// for its paths. Throws UserError if it does not exist, does not answer within 30 s, or is older than 3.9. Throws
/// UserError, too, if it is installed in /, /tmp or /dev/shm itself (a folder below /tmp is fine).
Interpreter find_interpreter(const std::string& python);

}  // namespace roll
