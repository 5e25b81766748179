// Checks of a response's text, shared by ROLL's functions (roll_functions.cpp) and IFEval's instructions
// (instructions.cpp). Texts are valid UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reward/ifeval/arguments.h"
#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// Returns whether every keyword occurs, alone or inside a word; ignores letter case.
bool has_all_keywords(const CheckedText& text, const std::vector<std::string>& keywords);
/// Returns whether none of `words` occurs as a whole word; ignores letter case.
bool has_none(const CheckedText& text, const std::vector<std::string>& words);

/// Counts placeholders [name], each within one line.
int64_t count_placeholders(const CheckedText& text);
/// Counts lines that begin with - or a single *, perhaps after white space.
int64_t count_bullets(const CheckedText& text);
/// Counts *text* and **text**, each within one line and not blank.
int64_t count_highlights(const CheckedText& text);
/// Returns whether there is <<text>> within one line, where the text is not blank.
bool has_title(const CheckedText& text);
/// Returns whether the text starts and ends with a double quote "; ignores white space around it.
bool is_quoted(std::string_view text);

/// Splits `text` at each `divider`. Returns nullopt if a part is blank; with `ends_may_be_blank`, leaves out a blank
/// first or last part instead.
std::optional<std::vector<std::string_view>> divided(std::string_view text, std::string_view divider,
                                                     bool ends_may_be_blank);
/// Returns whether "******" separates exactly two parts that differ and are not blank. `ends_may_be_blank`: as for
/// divided().
bool has_two_responses(std::string_view text, bool ends_may_be_blank);

/// The demand: `num_paragraphs` paragraphs (separated by "\n\n"), and paragraph `nth` (from 1) begins with `word`.
struct FirstWord {
  int64_t num_paragraphs, nth;
  std::string word;
};
/// Names of the arguments that hold these three values; they differ between ROLL and IFEval.
struct FirstWordKeys {
  const char *num_paragraphs, *nth, *word;
};
/// Reads the demand. Throws UserError if nth is not in 1..num_paragraphs, or an argument is missing or mistyped.
FirstWord read_first_word(const Arguments& args, const FirstWordKeys& keys);
/// Returns whether the text meets the demand; ignores blank paragraphs, letter case and quotes before the word.
bool has_first_word(const CheckedText& text, const FirstWord& wanted);

/// Returns whether the main language of the text is the one named by the argument `key`. Throws UserError if the
/// argument is missing or names no known language.
bool is_in_language(const CheckedText& text, const Arguments& args, const char* key);

}  // namespace roll::ifeval
