// Words in the making, from pieces that are quoted, written plainly, or the values of variables, which are split.
#pragma once

#include <optional>

#include "shell/interpreter.h"

namespace roll::shell {

struct Interpreter::Builder {
  Fields done = {};
  std::string text = {};
  Place place = {};
  bool has_text = false;  // also an empty one in quotes
  bool splits = false, makes_pattern = false;
  std::string separators = " \t\n";

  void plain(std::string_view piece) {
    text += piece;
    has_text = true;
  }
  /// What means itself, whatever signs it has.
  void literal(std::string_view piece);
  void value(std::string_view piece, Place of_value, bool in_quotes);
  /// Of "$@" and "${NAME[@]}", each a word of its own; without quotes they are split too.
  void list(const Fields& values, bool in_quotes);
  void end();
};

struct Braces {
  size_t begin, end;  // of {...}
  std::vector<std::string> choices;
};
/// The first {a,b} or {1..3} outside of quotes.
std::optional<Braces> find_braces(std::string_view word);

}  // namespace roll::shell
