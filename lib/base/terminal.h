// What a person's terminal can show: whether output is one, how large it is, and what text looks like on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct Terminal {
  bool interactive = false;  // lines may be redrawn in place
  int columns = 80;
  int rows = 0;  // 0: not known, or standard error goes elsewhere: no place for a screen
};

/// The terminal behind a file descriptor. Under mpirun every rank sees a pseudo-terminal, whatever mpirun itself writes
/// to; there what the launcher found counts (ROLL_TERMINAL=<columns>, 0 when it is none; ROLL_TERMINAL_ROWS=<rows>, 0
/// when standard error goes elsewhere), and without it we assume none.
Terminal terminal_of(int fd);

/// Display columns of UTF-8 text without control characters: 2 for wide characters (CJK, emoji), 0 for marks that sit
/// on the one before.
int display_width(std::string_view utf8);

/// `utf8` cut to `columns`, ending in "…" where something was cut off.
std::string cut_to_width(std::string_view utf8, int columns);

/// `utf8`, which has no line ends, on lines of at most `columns` between its words; those after the first begin with
/// `indent`. A word that is longer stands on a line of its own, whole.
std::vector<std::string> wrapped(std::string_view utf8, int columns, std::string_view indent = "");

}  // namespace roll
