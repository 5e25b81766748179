// Splits a text into sentences by simple rules, for ifeval checks. IFEval counts with NLTK's Punkt (a trained model)
// and ROLL with a regular expression; both aim at the same rules.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// Returns the sentences. A sentence ends after a run of . ? ! or an ellipsis, plus closing quotes and brackets, if
/// white space or the text's end follows. Anything may follow the full-width marks of Chinese and Japanese, and Hindi's
/// danda.
///
/// A period after an abbreviation may belong to it. After a title (Dr. Lee) or "e.g." the sentence ends only before a
/// blank line. After other abbreviations (Inc., Jan., a.m., U.S., J.) and an ellipsis it also ends before a capitalised
/// word that starts sentences and is no name ("Acme Inc. He"). After a number, a small letter continues the sentence. A
/// rest at the text's end counts if it holds a word.
std::vector<std::string_view> split_sentences(std::string_view text);

inline int64_t count_sentences(std::string_view text) {
  return std::ssize(split_sentences(text));
}

}  // namespace roll::ifeval
