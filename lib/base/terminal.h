// Terminals: whether output goes to one, its size, and the display width of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct Terminal {
  bool interactive = false;  // lines may be redrawn in place
  int columns = 80;
  int rows = 0;  // 0: unknown, or standard error goes elsewhere, so that a full-screen view has no place
};

/// Returns the terminal behind a file descriptor. Under mpirun every rank sees a pseudo-terminal, so the launcher's
/// findings count: ROLL_TERMINAL=<columns> (0: no terminal) and ROLL_TERMINAL_ROWS=<rows> (0: standard error goes
/// elsewhere). Without them, no terminal is assumed.
Terminal describe_terminal(int fd);

/// Returns the display columns of UTF-8 text without control characters: 2 for wide characters (CJK, emoji), 0 for
/// combining marks.
int display_width(std::string_view utf8);

/// Returns `utf8` cut to `columns`, ending in "…" if anything was cut off.
std::string cut_to_width(std::string_view utf8, int columns);

/// Wraps `utf8`, which has no line ends, between words to lines of at most `columns`. Lines after the first begin with
/// `indent`. A longer word is kept whole on its own line.
std::vector<std::string> wrapped(std::string_view utf8, int columns, std::string_view indent = "");

}  // namespace roll
