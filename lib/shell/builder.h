// Builds the words of a command for the interpreter, from quoted and plain pieces and variables' values, which are
// split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell/unknown.h"

namespace roll::shell {

struct Field {
  std::string text;  // may contain marks of unknown pieces (unknown.h)
  Place place;
};

struct Builder {
  Place place = {};
  bool splits = false, makes_pattern = false;
  std::string separators = " \t\n";
  std::vector<Field> fields = {};
  std::string text = {};
  bool has_text = false;  // true also for an empty quoted word

  /// Appends text as it is; in a pattern, *, ? and [ are special.
  void append_plain(std::string_view piece) {
    text += piece;
    has_text = true;
  }
  /// Appends text literally: quote and glob characters in it are not special.
  void append_literal(std::string_view piece);
  /// Appends a variable's value, split into words unless quoted.
  void append_value(std::string_view piece, Place value_place, bool in_quotes);
  /// Appends the values of "$@" or "${NAME[@]}", each as a word; without quotes they are split too.
  void append_values(const std::vector<Field>& values, bool in_quotes);
  /// Ends the current word.
  void end_word();
};

/// Brace expansion: {a,b} or {1..3}.
struct Braces {
  std::vector<std::string> choices;  // empty: not a brace expansion
  size_t size = 0;                   // length of the source text
};
/// Parses a brace expansion at the beginning of `text`.
Braces parse_braces(std::string_view text);

}  // namespace roll::shell
