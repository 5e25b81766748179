#include "app/cli/own_file.h"

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

fs::path own_file(const std::vector<std::string>& names) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  for (const char* share : {"share/roll", ""})
    for (const std::string& name : names)
      if (const fs::path file = program.parent_path().parent_path() / share / name; is_there(file)) return file;
  throw user_error(
      "{}: the file {} is not with this program (share/roll); install all of it, or use the program of a checkout",
      program.string(), names.front());
}

}  // namespace roll
