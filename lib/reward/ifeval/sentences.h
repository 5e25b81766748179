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
/// Some periods need not end a sentence. After a title (Dr. Lee) or "e.g." the sentence ends only before a blank line.
/// After other abbreviations (Inc., Jan., a.m., U.S., J.) and an ellipsis, it also ends before a capitalised word that
/// usually starts a sentence ("Acme Inc. He"). After a number, it ends unless a small letter follows. Text without a
/// word does not count as a sentence.
std::vector<std::string_view> split_sentences(std::string_view text);

/// Returns the number of sentences.
inline int64_t count_sentences(std::string_view text) {
  return std::ssize(split_sentences(text));
}

}  // namespace roll::ifeval
