// Tells whether output goes to a terminal and how large that is; cuts and wraps text by its display width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// A terminal, or its absence.
struct Terminal {
  bool interactive = false;  // output goes to a terminal, and lines may be redrawn in place
  int columns = 80;
  int rows = 0;  // 0: unknown, or standard error is no terminal; a full-screen view is then impossible
};

/// Returns the terminal behind a file descriptor; `interactive` is false if there is none or TERM is dumb. If set, the
/// environment variables ROLL_TERMINAL=<columns> (0: no terminal) and ROLL_TERMINAL_ROWS=<rows> decide instead. Ranks
/// under mpirun cannot see the terminal, so the process that started mpirun sets the variables. If the variables are
/// not set, such a rank assumes no terminal.
Terminal describe_terminal(int fd);

/// Returns the terminal columns that UTF-8 text takes: 2 for wide characters (CJK, emoji), 0 for combining marks, else
/// 1. The text must not hold control characters.
int display_width(std::string_view utf8);

/// Returns `utf8` cut to at most `columns` terminal columns, ending in "…" if anything was cut off; "" if `columns` is
/// 0 or less.
std::string cut_to_width(std::string_view utf8, int columns);

/// Wraps `utf8`, which must not hold line ends, between words to lines of at most `columns` terminal columns. Lines
/// after the first begin with `indent`. A word longer than a line is kept whole on its own line.
std::vector<std::string> wrapped(std::string_view utf8, int columns, std::string_view indent = "");

}  // namespace roll
