// Instructions that AllenAI's training sets add to IFEval's (IF_multi_constraints_upto5), checked as published
// (open-instruct's IFEvalG), with these differences:
//   keywords, phrases                     are texts, not expressions
//   sentences                             are those of sentences.h
//   tokens of count_unique and others     are those of tokens.h
//   an argument that a row leaves out     is an error of the row, not a random value
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reward/ifeval/checks.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/sentences.h"
#include "reward/ifeval/tokens.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

bool is_same_text(std::string_view text, std::string_view other) {
  return lower(trimmed(text)) == lower(trimmed(other));
}

int64_t occurrences(const CheckedText& text, const std::string& keyword) {
  return static_cast<int64_t>(count_parts(fold(text.text()), fold(keyword)));
}

/// The phrase occurs `small_n` times, each time with exactly one word between its first and last changed.
bool repeat_phrase(const CheckedText& checked, const Arguments& args) {
  const std::string phrase = args.text("phrase");
  const int64_t n = args.whole("small_n");
  const std::vector<std::string_view> words = split_words(phrase);
  const std::string first = fmt::format("{} ", words.front()), last = fmt::format(" {}", words.back());
  const std::string_view text = checked.text();
  int64_t count = 0;
  for (size_t begin = text.find(first); begin != text.npos;) {
    const size_t middle = begin + first.size(), end = text.find(last, middle);
    if (end == text.npos) break;
    if (text.substr(middle, end - middle).find('\n') != text.npos) {
      begin = text.find(first, begin + 1);
      continue;
    }
    const std::vector<std::string_view> found = split_words(text.substr(begin, end + last.size() - begin));
    int64_t differences = found.size() == words.size() ? 0 : 2;
    for (size_t i = 0; i < words.size() && differences < 2; ++i) differences += found[i] != words[i];
    if (differences != 1) return false;
    ++count;
    begin = text.find(first, end + last.size());
  }
  return count == n;
}

bool copy(const CheckedText& text, const Arguments& args) {
  return is_same_text(text.text(), args.exact_text("prompt_to_repeat"));
}

bool copying_multiple(const CheckedText& text, const Arguments& args) {
  const std::string prompt = args.exact_text("prompt_to_repeat");
  const int64_t n = args.whole("N");
  const auto parts = split(text.text(), "******");
  return std::ssize(parts) == n &&
         std::ranges::all_of(parts, [&](std::string_view part) { return is_same_text(part, prompt); });
}

/// The text is characters `n_start` (included) to `n_end` (excluded) of the prompt.
bool copy_span_idx(const CheckedText& text, const Arguments& args) {
  const std::string prompt = args.exact_text("prompt_to_repeat");
  const int64_t start = args.whole("n_start"), end = args.whole("n_end");
  std::string_view span = prompt;
  size_t begin = 0, stop = 0;
  for (int64_t i = 0; i < end && stop < prompt.size(); ++i) {
    if (i == start) begin = stop;
    next_code_point(prompt, stop);
  }
  span = start < end ? span.substr(begin, stop - begin) : "";
  return is_same_text(text.text(), span);
}

/// Returns the word's first code point in lower case; 0 if that is several code points.
char32_t small_first_letter(std::string_view word) {
  size_t end = 0;
  next_code_point(word, end);
  const std::string small = lower(word.substr(0, end));
  size_t pos = 0;
  const char32_t letter = next_code_point(small, pos);
  return pos == small.size() ? letter : 0;
}

bool no_adjacent_consecutive(const CheckedText& text, const Arguments&) {
  const auto words = split_words(text.text());
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const char32_t first = small_first_letter(words[i]), second = small_first_letter(words[i + 1]);
    if (first == 0 || second == 0 || second == first + 1) return false;
  }
  return true;
}

bool square_brackets(const CheckedText& text, const Arguments&) {
  return std::ranges::all_of(split_words(text.text()),
                             [](std::string_view word) { return word.starts_with('[') && word.ends_with(']'); });
}

bool bigram_wrapping(const CheckedText& text, const Arguments&) {
  const auto words = split_words(text.text());
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    if (!words[i].starts_with("<<") || !words[i + 1].ends_with(">>")) return false;
  return true;
}

bool has_two_parts(std::string_view text, std::string_view divider) {
  const auto parts = divided(text, divider, /*ends_may_be_blank=*/true);
  return parts && parts->size() == 2;
}

std::string_view first_of(std::string_view text) {
  const auto words = split_words(text);
  return words.empty() ? "" : words.front();
}

/// Returns the last word without punctuation.
std::string last_of(std::string_view text) {
  const auto words = split_words(text);
  std::string last;
  if (!words.empty())
    for (size_t pos = 0; pos < words.back().size();)
      if (const char32_t c = next_code_point(words.back(), pos); is_word(c)) append_utf8(last, c);
  return last;
}

std::string word_in(const Arguments& args, const char* key) {
  return lower(args.text_or_first(key));
}

bool first_word_sent(const CheckedText& text, const Arguments& args) {
  const std::string word = word_in(args, "first_word");
  return std::ranges::all_of(split_sentences(text.text()),
                             [&](std::string_view s) { return lower(first_of(s)) == word; });
}

bool last_word_sent(const CheckedText& text, const Arguments& args) {
  const std::string word = word_in(args, "last_word");
  return std::ranges::all_of(split_sentences(text.text()),
                             [&](std::string_view s) { return lower(last_of(s)) == word; });
}

/// Hyphens separate the sentences, without blanks beside them.
bool sentence_hyphens(const CheckedText& text, const Arguments&) {
  std::string with_blanks(text.text());
  std::ranges::replace(with_blanks, '-', ' ');
  const auto between = split(text.text(), "-");
  const auto sentences = split_sentences(with_blanks);
  for (size_t i = 0; i < std::min(between.size(), sentences.size()); ++i)
    if (between[i] != sentences[i]) return false;
  return true;
}

bool letter_counting(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return holds(args.relation("relation"), text.count("[a-zA-Z]"), n);
}

bool counting_composition(const CheckedText& text, const Arguments& args) {
  const int64_t num_sentences = args.whole("n_sent"), num_words = args.whole("n_words");
  const auto parts = divided(text.text(), "***", /*ends_may_be_blank=*/true);
  return parts && parts->size() == 3 && std::ranges::all_of(*parts, [&](std::string_view part) {
           const auto sentences = split_sentences(part);
           return std::ssize(sentences) == num_sentences &&
                  std::ranges::all_of(sentences, [&](std::string_view sentence) {
                    return std::ssize(split_tokens(text, sentence)) == num_words;
                  });
         });
}

bool count_unique(const CheckedText& text, const Arguments&) {
  const auto tokens = split_tokens(text);
  return std::set<std::string_view>(tokens.begin(), tokens.end()).size() == tokens.size();
}

bool count_increment_word(const CheckedText& text, const Arguments& args) {
  const std::string once = args.text("keyword1"), twice = args.text("keyword2");
  return occurrences(text, once) == 1 && occurrences(text, twice) == 2;
}

bool is_palindrome(std::string_view word) {
  std::u32string letters;
  for (size_t pos = 0; pos < word.size();) letters += next_code_point(word, pos);
  return std::equal(letters.begin(), letters.end(), letters.rbegin());
}

bool keyword_specific_position(const CheckedText& text, const Arguments& args) {
  const std::string keyword = args.text_or_first("keyword");
  const int64_t n = args.whole("n"), m = args.whole("m");
  if (n < 1 || m < 1) throw user_error("n = {}, m = {}: must be at least 1", n, m);
  const auto sentences = split_sentences(text.text());
  if (std::ssize(sentences) < n) return false;
  const auto tokens = split_tokens(text, sentences[static_cast<size_t>(n - 1)]);
  return std::ssize(tokens) >= m && tokens[static_cast<size_t>(m - 1)] == keyword;
}

bool start_end(const CheckedText& text, const Arguments&) {
  const auto tokens = split_tokens(text);
  return tokens.size() > 1 && lower(tokens.front()) == lower(tokens.back());
}

constexpr InstructionKind kOfAllenAi[] = {
    {"copy:repeat_phrase", repeat_phrase},
    {"copy:copy", copy},
    {"new:copy_span_idx", copy_span_idx},
    {"detectable_format:sentence_hyphens", sentence_hyphens},
    {"keywords:no_adjacent_consecutive", no_adjacent_consecutive},
    {"detectable_format:square_brackets", square_brackets},
    {"keywords:word_once",
     [](const CheckedText& t, const Arguments& a) { return occurrences(t, a.text("keyword")) == 1; }},
    {"keywords:word_count_different_numbers",
     [](const CheckedText& t, const Arguments& a) {
       const int64_t n = a.whole("frequency");
       return holds(a.relation("relation"), occurrences(t, a.text("keyword")), n);
     }},
    {"keywords:exclude_word_harder",
     [](const CheckedText& t, const Arguments& a) {
       return t.text().find(fmt::format(" {} ", a.text("keyword"))) == std::string_view::npos;
     }},
    {"paragraphs:paragraphs", [](const CheckedText& t, const Arguments&) { return has_two_parts(t.text(), "***"); }},
    {"paragraphs:paragraphs2", [](const CheckedText& t, const Arguments&) { return has_two_parts(t.text(), "\n\n"); }},
    {"first_word:first_word_sent", first_word_sent},
    {"first_word:first_word_answer",
     [](const CheckedText& t, const Arguments& a) { return lower(first_of(t.text())) == word_in(a, "first_word"); }},
    {"last_word:last_word_sent", last_word_sent},
    {"last_word:last_word_answer",
     [](const CheckedText& t, const Arguments& a) { return lower(last_of(t.text())) == word_in(a, "last_word"); }},
    {"detectable_format:bigram_wrapping", bigram_wrapping},
    {"copy:copying_simple", copy},
    {"copy:copying_multiple", copying_multiple},
    {"punctuation:punctuation_dot",
     [](const CheckedText& t, const Arguments&) { return t.text().find('.') == std::string_view::npos; }},
    {"punctuation:punctuation_exclamation",
     [](const CheckedText& t, const Arguments&) { return t.text().find('!') == std::string_view::npos; }},
    {"count:lowercase_counting",
     [](const CheckedText& t, const Arguments& a) { return t.count(R"(\b[a-z]+\b)") <= a.whole("N"); }},
    {"letters:letter_counting", letter_counting},
    {"count:counting_composition", counting_composition},
    {"count:count_unique", count_unique},
    {"count:count_increment_word", count_increment_word},
    {"keywords:palindrome",
     [](const CheckedText& t, const Arguments&) { return std::ranges::any_of(split_words(t.text()), is_palindrome); }},
    {"keywords:keyword_specific_position", keyword_specific_position},
    {"keywords:start_end", start_end},
};

}  // namespace

std::span<const InstructionKind> allenai_instructions() {
  return kOfAllenAi;
}

}  // namespace roll::ifeval
