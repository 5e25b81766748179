// Tables of LaTeX commands for lexer.h: formatting commands, commands that hold words, and synonyms. Names of commands
// are without the backslash.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace roll::math {

/// Word -> meaning.
using WordTable = std::map<std::string, std::string, std::less<>>;

/// Returns a table from text. Commas separate its rows; each row is a meaning and then the words with this meaning,
/// separated by spaces. "frac dfrac tfrac, le leq" maps dfrac and tfrac to frac, and leq to le.
WordTable by_word(const char* rows);

/// Returns whether the command only changes the formatting (\left, \displaystyle).
bool changes_looks(std::string_view name);

/// Returns whether the command's braces hold words (\text).
bool holds_words(std::string_view name);

/// Returns whether a word without a backslash in plain text means the command of that name ("sin").
bool is_plain_command(std::string_view word);

/// Returns the canonical name of a command ("dfrac" -> "frac"), or the sign that it means ("lbrace" -> "\{"); `name`
/// itself if it has no synonym.
std::string known_command(const std::string& name);

/// Returns the command or sign that a non-ASCII character means ("π" -> "pi"); " " or "" if it counts as white space;
/// nullptr if it stands for itself. The result stays valid for ever. `character`: one character in UTF-8.
const std::string* command_of_character(std::string_view character);

}  // namespace roll::math
