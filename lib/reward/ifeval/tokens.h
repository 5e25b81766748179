// Splits a text into tokens like NLTK's word_tokenize, but with sentences.h instead of its trained model. A token is a
// word, the end of a contraction, a punctuation mark, or the period that ends a sentence.
#pragma once

#include <string_view>
#include <vector>

#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// Returns the tokens of `part`, one sentence of the text, as views into it.
std::vector<std::string_view> split_tokens(const CheckedText& text, std::string_view part);

/// Returns the tokens of all sentences of the text (sentences.h).
std::vector<std::string_view> split_tokens(const CheckedText& text);

}  // namespace roll::ifeval
