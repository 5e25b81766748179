// Finds the likely mistake in invalid YAML, for the messages of parse_yaml() (yaml.h). The parser itself reports the
// place where it gave up, often a line after the mistake, in terms of its grammar.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// A mistake in a YAML text.
struct YamlCause {
  int line = 0;       // from 1
  int column = 0;     // from 1
  std::string words;  // the mistake and the remedy
};

/// Returns the likely cause of a syntax error in `text`. `line`, `column` (both from 1) and `parser_words` are the
/// parser's message; they are returned if no better cause is found.
YamlCause yaml_cause(std::string_view text, int line, int column, const std::string& parser_words);

/// Returns two indented lines, each beginning with '\n': line `line` of the text with its number, and a caret below
/// `column` (both from 1). A long line is cut around the column; control characters become spaces. Returns "" if the
/// line does not exist.
std::string pointed_line(std::string_view text, int line, int column);

}  // namespace roll
