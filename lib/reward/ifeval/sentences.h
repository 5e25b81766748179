// Sentences of a text. IFEval counts them by a trained model (NLTK's Punkt) and ROLL by an expression that knows no
// exclamation mark; this is the plain rule of both: a sentence ends with its punctuation, abbreviations aside.
#pragma once

#include <cstdint>
#include <string_view>

namespace roll::ifeval {

/// A sentence ends behind a run of . ? ! or an ellipsis, and the quotes and brackets that close there, where white
/// space or the text's end follows (behind the full-width marks of Chinese and Japanese, and Hindi's danda, anything
/// may follow). A period behind an abbreviation (Mr, e.g), a single letter or an acronym (J. Smith, U.S.) ends none
/// while text follows. What is left at the end counts when it holds a word.
int64_t count_sentences(std::string_view text);

}  // namespace roll::ifeval
