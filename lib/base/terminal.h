// What a person's terminal can show: whether output is one, and how wide it is.
#pragma once

#include <string>
#include <string_view>

namespace roll {

struct Terminal {
  bool interactive = false;  // lines may be redrawn in place
  int columns = 80;
};

/// The terminal behind a file descriptor. Under mpirun every rank sees a pseudo-terminal, whatever mpirun itself writes
/// to; there the launcher's word counts (ROLL_TERMINAL=<columns>, 0 when it is none), and without it we assume none.
Terminal terminal_of(int fd);

/// Display columns of UTF-8 text, one per code point (our own lines hold no wide characters).
int display_width(std::string_view utf8);

/// `utf8` cut to `columns`, ending in "…" where something was cut off.
std::string cut_to_width(std::string_view utf8, int columns);

}  // namespace roll
