// What is most likely wrong with a text that is no YAML. A parser says where it gave up, which is often a line behind
// the mistake, in words of its grammar.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// A place (from 1) and what is wrong there, with its remedy.
struct YamlCause {
  int line = 0;
  int column = 0;
  std::string words;
};

/// `line`, `column` (from 1) and `parser_words` are what the parser says, and the result where nothing likelier is
/// found.
YamlCause yaml_cause(std::string_view text, int line, int column, const std::string& parser_words);

/// The line `line` of a text with its number, and a caret below the column: two indented lines, each begun with '\n'.
/// Of a long line the part around the column; control characters as spaces. "" where there is no such line.
std::string pointed_line(std::string_view text, int line, int column);

}  // namespace roll
