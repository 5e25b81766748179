// The Python that runs programs, and the folders that it needs.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct Interpreter {
  std::string program;               // absolute
  std::vector<std::string> folders;  // its own, absolute, beside the system's
};

/// Asks `python` (a path, or a name on PATH). UserError: not there, older than 3.9, or it does not answer.
Interpreter find_interpreter(const std::string& python);

}  // namespace roll
