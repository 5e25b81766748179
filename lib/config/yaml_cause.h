// Finds the likely mistake in invalid YAML, for the messages of yaml.h. A parser reports the place where it gave up,
// often a line after the mistake, in terms of its grammar.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Place (from 1) of a mistake, and a description with the remedy.
struct YamlCause {
  int line = 0;
  int column = 0;
  std::string words;
};

/// Returns the likely cause of a syntax error. `line`, `column` (from 1) and `parser_words` are the parser's message,
/// and the result if no better cause is found.
YamlCause yaml_cause(std::string_view text, int line, int column, const std::string& parser_words);

/// Returns line `line` of a text with its number, and a caret below the column: two indented lines, each begun with
/// '\n'. A long line is cut around the column; control characters become spaces. "" if the line does not exist.
std::string pointed_line(std::string_view text, int line, int column);

}  // namespace roll
