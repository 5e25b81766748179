#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace roll {

std::string errno_text() {
  return fmt::format(" ({})", std::strerror(errno));
}

void throw_bug(const char* file, int line, const std::string& message) {
  throw Bug(fmt::format("{}:{}: {}", file, line, message));
}

}  // namespace roll
