// Words in the making, from pieces that are quoted, written plainly, or the values of variables, which are split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell/unknown.h"

namespace roll::shell {

struct Field {
  std::string text;  // may have unknown pieces
  Place place;
};

struct Builder {
  Place place = {};
  bool splits = false, makes_pattern = false;
  std::string separators = " \t\n";
  std::vector<Field> done = {};
  std::string text = {};
  bool has_text = false;  // also an empty one in quotes

  void plain(std::string_view piece) {
    text += piece;
    has_text = true;
  }
  /// What means itself, whatever signs it has.
  void literal(std::string_view piece);
  void value(std::string_view piece, Place of_value, bool in_quotes);
  /// Of "$@" and "${NAME[@]}", each a word of its own; without quotes they are split too.
  void list(const std::vector<Field>& values, bool in_quotes);
  void end();
};

/// {a,b} or {1..3}.
struct Braces {
  std::vector<std::string> choices;  // empty: no such thing
  size_t size = 0;                   // of its text
};
/// Of the text that begins with a brace.
Braces braces_at(std::string_view text);

}  // namespace roll::shell
