// Escapes text from others so that it cannot harm a terminal, e.g. by escape sequences. All output passes through here
// (base/console.h, base/log.h, track/screen_frame.h), so authors can ignore it.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns true for control characters (line ends and tabs too), other line separators, marks that change the writing
/// direction, and invisible characters.
bool is_harmful(char32_t c);

/// Returns `text` with harmful characters (except line ends and tabs) and bytes of invalid UTF-8 as "\x1b".
std::string harmless(std::string_view text);

/// Returns `text` on one line, one column each: line ends as "↵", tabs as blanks, harmful characters as "·", bytes of
/// invalid UTF-8 as "?". Carriage returns are dropped.
std::string on_one_line(std::string_view text);

/// Applies harmless() to text that arrives in pieces, which may end within a character.
class HarmlessPieces {
 public:
  /// Returns the text that can be shown now.
  std::string next(std::string_view piece);

 private:
  std::string incomplete_;  // bytes of an incomplete character
};

}  // namespace roll
