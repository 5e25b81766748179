// Paths of this program and of the files installed beside it.
#pragma once

#include <filesystem>

namespace roll {

/// Returns the path of the running executable.
inline std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

/// Returns the path of the file `name` in the executable's folder; the file need not exist.
inline std::filesystem::path beside_program(const char* name) {
  return own_program().replace_filename(name);
}

}  // namespace roll
