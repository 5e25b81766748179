// Checks that ROLL's functions and IFEval's instructions share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reward/ifeval/arguments.h"
#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

bool has_all_keywords(const CheckedText& text, const std::vector<std::string>& keywords);
/// Whole words count, whatever the case of their letters.
bool has_no_word_of(const CheckedText& text, const std::vector<std::string>& words);

/// `[name]` on one line.
int64_t count_placeholders(const CheckedText& text);
/// Lines that begin with - or with one *.
int64_t count_bullets(const CheckedText& text);
/// *text* and **text** on one line.
int64_t count_highlights(const CheckedText& text);
/// <<text>> on one line.
bool has_title(const CheckedText& text);
bool is_quoted(std::string_view text);

/// The parts between `divider`; nothing where a part is blank, unless it is the first or last and `ends_may_be_blank`:
/// those are left out.
std::optional<std::vector<std::string_view>> divided(std::string_view text, std::string_view divider,
                                                     bool ends_may_be_blank);
/// Two texts that differ, between six asterisks.
bool has_two_responses(std::string_view text, bool ends_may_be_blank);

/// Whether there are so many paragraphs between blank lines, of which the nth (from 1) begins with this word.
struct FirstWord {
  int64_t num_paragraphs, nth;
  std::string word;
};
/// The arguments of these names. UserError: the nth is not among them.
struct FirstWordKeys {
  const char *num_paragraphs, *nth, *word;
};
FirstWord first_word_of(const Arguments& args, const FirstWordKeys& keys);
bool has_first_word(const CheckedText& text, const FirstWord& wanted);

/// Whether most of the text is in the language that an argument names. UserError: nobody knows it.
bool is_in_language(const CheckedText& text, const Arguments& args, const char* key);

}  // namespace roll::ifeval
