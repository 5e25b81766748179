// What the commands of LaTeX are to an answer: looks, words, or names of which several mean one thing.
#pragma once

#include <string>
#include <string_view>

namespace roll::math {

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
