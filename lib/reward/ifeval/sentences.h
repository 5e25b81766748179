// Sentences of a text: by the plain rules that IFEval's counter (NLTK's Punkt, a trained model) and ROLL's expression
// are both meant to follow.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// A sentence ends behind a run of . ? ! or an ellipsis, and the quotes and brackets that close there, where white
/// space or the text's end follows (behind the full-width marks of Chinese and Japanese, and Hindi's danda, anything
/// may follow).
///
/// A period behind an abbreviation ends none before a name or a small letter: never behind a title (Dr. Lee) or "e.g.";
/// behind others (Inc., Jan., a.m., U.S., J.) and an ellipsis it does where a blank line follows, or a capitalised word
/// that begins sentences and no names ("Acme Inc. He"). Behind a number a small letter goes on. What is left at the end
/// counts when it holds a word.
std::vector<std::string_view> sentences_of(std::string_view text);

inline int64_t count_sentences(std::string_view text) {
  return std::ssize(sentences_of(text));
}

}  // namespace roll::ifeval
