#include "app/cli/help.h"

#include <unistd.h>

#include <sstream>

#include "base/terminal.h"

namespace roll {

std::string fitted_help(const std::string& text) {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  if (!terminal.interactive) return text;
  std::istringstream in(text);
  std::string fitted;
  for (std::string line; std::getline(in, line);) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    // A flag or a subcommand, two blanks or more, and what it does.
    const size_t gap = line.find("  ", begin);
    const size_t column = gap == line.npos ? begin : line.find_first_not_of(' ', gap);
    const bool leaves_room = column != line.npos && static_cast<int>(column) < terminal.columns / 2;
    const std::string indent(leaves_room ? column : begin, ' ');
    for (const std::string& part : wrapped(line, terminal.columns, indent)) fitted += part + '\n';
  }
  return fitted;
}

}  // namespace roll
