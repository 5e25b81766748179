// Tables of LaTeX commands for the lexer: formatting commands, commands that hold words, and synonyms.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace roll::math {

using WordTable = std::map<std::string, std::string, std::less<>>;

/// Returns a table word -> meaning. `rows` are separated by commas; each holds a meaning and then its words.
WordTable by_word(const char* rows);

/// Returns whether the command only changes the formatting (\left, \displaystyle).
bool changes_looks(std::string_view name);

/// Returns whether the command's braces hold words (\text).
bool holds_words(std::string_view name);

/// Returns whether plain text uses the word as a command ("sin").
bool is_plain_command(std::string_view word);

/// Returns a command's canonical name ("dfrac" -> "frac"), or a sign ("lbrace" -> "\{").
std::string known_command(const std::string& name);

/// Returns the command or sign for a non-ASCII character; " " or "" if it means nothing; nullptr for the character
/// itself.
const std::string* command_of_character(std::string_view character);

}  // namespace roll::math
