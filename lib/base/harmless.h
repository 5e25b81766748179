// Text of others, made harmless to a terminal: the one list of what is not, and what is shown in its place. Whatever is
// printed goes through here on its way out (base/console.h, base/log.h, track/screen_frame.h), so that nobody who makes
// a text has to think of it.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Control characters (line ends and tabs too), what ends a line elsewhere, turns the direction of writing, or is not
/// seen at all although it stands there.
bool is_harmful(char32_t c);

/// `text` with the bytes of harmful characters (but for line ends and tabs), and those that are no UTF-8, as "\x1b".
std::string harmless(std::string_view text);

/// On one line, a column for each: line ends as "↵", tabs as blanks, carriage returns not at all, harmful characters as
/// "·", bytes that are no UTF-8 as "?".
std::string on_one_line(std::string_view text);

/// harmless() of a text that comes in pieces, which may end within a character.
class HarmlessPieces {
 public:
  /// What can be shown now.
  std::string next(std::string_view piece);

 private:
  std::string begun_;  // of a character
};

}  // namespace roll
