// Builds the words of a command from quoted pieces, plain pieces and variables' values, which are split into words as
// in bash. Used by the interpreter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell/unknown.h"

namespace roll::shell {

/// One word, after expansion.
struct Field {
  std::string text;  // may contain marks of pieces known only at run time (unknown.h)
  Place place;       // file and line where the word begins
};

/// Collects the words of a command. Set place, splits, makes_pattern and separators first; then append pieces, and call
/// end_word() after each word.
struct Builder {
  Place place = {};                  // file and line of the current word
  bool splits = false;               // true: unquoted values are split into words; false: all text becomes one word
  bool makes_pattern = false;        // the text is a pattern (pattern.h), so quoted * ? [ are escaped
  std::string separators = " \t\n";  // $IFS: characters at which values are split
  std::vector<Field> fields = {};    // finished words
  std::string text = {};             // text of the current word so far
  bool has_text = false;             // the current word exists; true also for an empty quoted word

  /// Appends text as it is to the current word; in a pattern, *, ? and [ are special.
  void append_plain(std::string_view piece) {
    text += piece;
    has_text = true;
  }
  /// Appends text literally: quote and glob characters in it are not special.
  void append_literal(std::string_view piece);
  /// Appends a variable's value, split into words if `splits` and not `in_quotes`. `value_place` is the line that set
  /// the variable; if the value has several words, each gets its own line there as its place.
  void append_value(std::string_view piece, Place value_place, bool in_quotes);
  /// Appends the values of "$@" or "${NAME[@]}": each as a word if `splits`, else joined by blanks. Without quotes each
  /// value is also split.
  void append_values(const std::vector<Field>& values, bool in_quotes);
  /// Moves the current word to `fields`; does nothing if there is none. Call it after the last word, too.
  void end_word();
};

/// Brace expansion: {a,b} or {1..3}.
struct Braces {
  std::vector<std::string> choices;  // "a", "b", unexpanded; empty: not a brace expansion, or a range of more than 201
  size_t size = 0;                   // bytes of `text` from '{' to '}', both included
};
/// Parses a brace expansion at the beginning of `text`, which must begin with '{'.
Braces parse_braces(std::string_view text);

}  // namespace roll::shell
