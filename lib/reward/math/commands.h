// Tables of LaTeX commands: those that only change the looks, those that hold words, and synonyms.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace roll::math {

using WordTable = std::map<std::string, std::string, std::less<>>;

/// The table of rows, separated by commas, that each hold a meaning and then the words that have it: word -> meaning.
WordTable by_word(const char* rows);

/// Commands that only change the looks (\left, \displaystyle).
bool changes_looks(std::string_view name);

/// Commands whose braces hold words (\text).
bool holds_words(std::string_view name);

/// Words that plain text uses for commands ("sin").
bool is_plain_command(std::string_view word);

/// The name under which a command is known ("dfrac" is "frac"), or a sign ("lbrace" is "\{").
std::string known_command(const std::string& name);

/// The command or sign that a character beyond ASCII stands for, " " or "" for none; nullptr: it stands for itself.
const std::string* command_of_character(std::string_view character);

}  // namespace roll::math
