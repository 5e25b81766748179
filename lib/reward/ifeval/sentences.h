// Splits a text into sentences by simple rules, for ifeval checks. IFEval counts with NLTK's Punkt (a trained model)
// and ROLL with a regular expression; both aim at the same rules.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// Returns the sentences as views into `text` (valid UTF-8), in order, without white space at both ends.
///
/// A sentence ends after one or more of . ? ! and the ellipsis, with closing quotes and brackets, if white space or the
/// end of the text follows. After the full-width marks of Chinese and Japanese and Hindi's danda, anything may follow.
///
/// Periods that need not end a sentence: after a title (Dr. Lee) or "e.g." it ends only before a blank line; after
/// other abbreviations (Inc., Jan., a.m., U.S., J.) and an ellipsis, also before a capitalised word that usually starts
/// a sentence ("Acme Inc. He"); after a number, unless a small letter follows. Text without a word is no sentence.
std::vector<std::string_view> split_sentences(std::string_view text);

/// Returns the number of sentences.
inline int64_t count_sentences(std::string_view text) {
  return std::ssize(split_sentences(text));
}

}  // namespace roll::ifeval
