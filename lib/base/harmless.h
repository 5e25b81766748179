// Escapes text from others (users' data, models, other programs) so that it cannot harm a terminal, e.g. by escape
// sequences. All output passes through here (base/console.h, base/log.h, track/screen_frame.h), so other code need not.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns true for control characters (line ends and tabs too), other line separators, marks that change the writing
/// direction, and invisible characters.
bool is_harmful(char32_t c);

/// Returns `text` in which each byte of harmful characters (except line ends and tabs) and of invalid UTF-8 is written
/// as a backslash, x and two hexadecimal digits: "\x1b".
std::string harmless(std::string_view text);

/// Returns `text` as one line, for displays of fixed width: a line end becomes "↵", a tab a blank, another harmful
/// character "·", a byte of invalid UTF-8 "?". Carriage returns are dropped.
std::string on_one_line(std::string_view text);

/// Applies harmless() to text that arrives in pieces; a piece may end within a UTF-8 character.
class HarmlessPieces {
 public:
  /// Takes the next piece and returns the escaped text up to the last complete character.
  std::string next(std::string_view piece);

 private:
  std::string incomplete_;  // bytes of an incomplete character
};

}  // namespace roll
