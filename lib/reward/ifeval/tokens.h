// Tokens of a text as NLTK's word_tokenize makes them, but for its trained model of sentences: a word, the end of a
// contraction or a punctuation mark each, the period that ends a sentence apart.
#pragma once

#include <string_view>
#include <vector>

#include "reward/ifeval/checked_text.h"

namespace roll::ifeval {

/// The tokens of `part`, which is one sentence of the text. Views into `part`.
std::vector<std::string_view> tokens_of(const CheckedText& text, std::string_view part);

/// The tokens of all sentences of the text (sentences.h).
std::vector<std::string_view> tokens_of(const CheckedText& text);

}  // namespace roll::ifeval
