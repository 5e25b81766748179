#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"

namespace roll {

namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

bool started_by_mpirun() {
  return env("OMPI_COMM_WORLD_RANK") || env("PMI_RANK") || env("PMIX_RANK");
}

}  // namespace

Terminal terminal_of(int fd) {
  if (const auto columns = env_count("ROLL_TERMINAL"))
    return {*columns > 0, *columns > 0 ? static_cast<int>(*columns) : 80};
  if (started_by_mpirun() || !::isatty(fd) || env("TERM").value_or("dumb") == "dumb") return {};
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {true, known ? size.ws_col : 80};
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (const char byte : utf8) width += !is_continuation(byte);
  return width;
}

std::string cut_to_width(std::string_view utf8, int columns) {
  if (columns <= 0) return {};
  if (display_width(utf8) <= columns) return std::string(utf8);
  size_t end = 0;
  for (int width = 0; width < columns; ++end) width += !is_continuation(utf8[end]);
  return std::string(utf8.substr(0, end - 1)) + "…";
}

}  // namespace roll
