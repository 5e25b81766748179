// Splits a text into tokens like NLTK's word_tokenize, for ifeval checks; sentences.h replaces NLTK's trained model of
// sentences. A token is a word, the end of a contraction ("n't"), a punctuation mark, or the period of a sentence.
#pragma once

#include <string_view>
#include <vector>

#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// Returns the tokens of `part`, one sentence of the text, as views into `part`. This and the next function throw
/// MatchFailed if the time limit of the text's Expressions is exceeded.
std::vector<std::string_view> split_tokens(const CheckedText& text, std::string_view part);

/// Returns the tokens of all sentences of the text (sentences.h), in order.
std::vector<std::string_view> split_tokens(const CheckedText& text);

}  // namespace roll::ifeval
