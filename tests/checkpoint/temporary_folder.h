// A folder that goes away with the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch_folder.h"

namespace roll::test {

class TemporaryFolder : public roll::ScratchFolder {
 public:
  TemporaryFolder() : roll::ScratchFolder("roll_test_") {}

  std::filesystem::path operator/(const std::string& name) const { return path() / name; }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() / name, std::ios::binary) << bytes;
    return path() / name;
  }
};

/// The message of the exception that `f` throws, or "no exception".
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no exception";
}

}  // namespace roll::test
