// Checks shared by ROLL's functions (roll_functions.cpp) and IFEval's instructions (instructions.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reward/ifeval/arguments.h"
#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// Returns whether all keywords occur, also inside words; ignores case.
bool has_all_keywords(const CheckedText& text, const std::vector<std::string>& keywords);
/// Returns whether no listed word occurs as a whole word; ignores case.
bool has_none(const CheckedText& text, const std::vector<std::string>& words);

/// Counts `[name]` on one line.
int64_t count_placeholders(const CheckedText& text);
/// Counts lines that begin with - or a single *.
int64_t count_bullets(const CheckedText& text);
/// Counts *text* and **text** on one line.
int64_t count_highlights(const CheckedText& text);
/// Returns whether there is <<text>> on one line.
bool has_title(const CheckedText& text);
/// Returns whether double quotes enclose the whole text.
bool is_quoted(std::string_view text);

/// Splits at `divider`. Returns nullopt if a part is blank; with `ends_may_be_blank`, a blank first or last part is
/// left out instead.
std::optional<std::vector<std::string_view>> divided(std::string_view text, std::string_view divider,
                                                     bool ends_may_be_blank);
/// Returns whether six asterisks separate exactly two different texts.
bool has_two_responses(std::string_view text, bool ends_may_be_blank);

/// A required number of paragraphs (separated by blank lines), and the first word of the nth (from 1).
struct FirstWord {
  int64_t num_paragraphs, nth;
  std::string word;
};
/// Argument names of a FirstWord.
struct FirstWordKeys {
  const char *num_paragraphs, *nth, *word;
};
/// Reads the arguments. UserError: nth is not in 1..num_paragraphs, or an argument is missing or mistyped.
FirstWord find_first_word(const Arguments& args, const FirstWordKeys& keys);
/// Returns whether the text has these paragraphs, with this first word.
bool has_first_word(const CheckedText& text, const FirstWord& wanted);

/// Returns whether most of the text is in the language named by an argument. UserError: the language is unknown.
bool is_in_language(const CheckedText& text, const Arguments& args, const char* key);

}  // namespace roll::ifeval
