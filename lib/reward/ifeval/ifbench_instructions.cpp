// IFBench's instructions about counts, ratios, words and sentences, checked as published (github.com/allenai/IFBench;
// Pyatkin et al. 2025, arXiv 2507.02833), with these differences:
//   sentences                             are those of sentences.h; published: NLTK's trained model
//   words of count:pronouns, words:words_position, words:keywords_specific_position and format:title_case
//                                         are those of tokens.h
//   an argument that a row leaves out     is an error of the row, not a random value
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/marks.h"
#include "reward/ifeval/sentences.h"
#include "reward/ifeval/tokens.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

using Words = std::set<std::string, std::less<>>;

Words word_set(std::string_view text) {
  const auto words = split_words(text);
  return {words.begin(), words.end()};
}

int64_t positive(const Arguments& args, const char* key) {
  const int64_t number = args.whole(key);
  if (number < 1) throw user_error("{} = {}: must be at least 1", key, number);
  return number;
}

std::string_view first_character(std::string_view word) {
  size_t end = 0;
  next_code_point(word, end);
  return word.substr(0, end);
}

std::u32string to_characters(std::string_view text) {
  std::u32string characters;
  for (size_t pos = 0; pos < text.size();) characters += next_code_point(text, pos);
  return characters;
}

// ---- counts and ratios

bool word_count_range(const CheckedText& text, const Arguments& args) {
  const int64_t least = args.whole("min_words"), most = args.whole("max_words"), count = text.count(R"(\w+)");
  return least <= count && count <= most;
}

bool unique_word_count(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  std::set<std::string_view> unique;
  for (const std::string_view word : split_words(text.lowered())) unique.insert(between_marks(word));
  return std::ssize(unique) >= n;
}

/// NLTK's English stop words that consist of letters only: others never occur between marks.
const Words& stop_words() {
  static const Words words = word_set(
      "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
      "it its itself they them their theirs themselves what which who whom this that these those am is are was were be "
      "been being have has had having do does did doing a an the and but if or because as until while of at by for "
      "with about against between into through during before after above below to from up down in out on off over "
      "under again further then once here there when where why how all any both each few more most other some such no "
      "nor not only own same so than too very s t can will just don should now d ll m o re ve y ain aren couldn didn "
      "doesn hadn hasn haven isn ma mightn mustn needn shan shouldn wasn weren won wouldn");
  return words;
}

bool stop_word_ratio(const CheckedText& text, const Arguments& args) {
  const double most = static_cast<double>(args.whole("percentage"));
  const auto words = text.find_all(R"(\w+)");
  const auto count = std::ranges::count_if(words, [](std::string_view w) { return stop_words().contains(lower(w)); });
  return !words.empty() && static_cast<double>(count) / static_cast<double>(words.size()) * 100 <= most;
}

struct SentenceEnds {
  int64_t periods = 0, questions = 0, exclamations = 0;
};
SentenceEnds sentence_ends(const CheckedText& text) {
  SentenceEnds ends;
  for (const std::string_view sentence : split_sentences(text.text())) {
    ends.periods += sentence.ends_with('.');
    ends.questions += sentence.ends_with('?');
    ends.exclamations += sentence.ends_with('!');
  }
  return ends;
}

bool sentence_type(const CheckedText& text, const Arguments&) {
  const SentenceEnds ends = sentence_ends(text);
  return ends.periods == 2 * ends.questions;
}

bool sentence_balance(const CheckedText& text, const Arguments&) {
  const SentenceEnds ends = sentence_ends(text);
  return ends.periods == ends.questions && ends.questions == ends.exclamations;
}

/// Published behaviour: words that differ in case or surrounding marks count as different.
bool conjunctions(const CheckedText& text, const Arguments& args) {
  static const Words known = word_set("and but for nor or so yet");
  const int64_t n = args.whole("small_n");
  std::set<std::string_view> found;
  for (const std::string_view word : split_words(text.text()))
    if (known.contains(lower(between_marks(word)))) found.insert(word);
  return std::ssize(found) >= n;
}

bool person_names(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  const auto found = text.find_all(
      R"re(\b(?:Emma|Liam|Sophia|Jackson|Olivia|Noah|Ava|Lucas|Isabella|Mason|Mia|Ethan|Charlotte|Alexander|Amelia|)re"
      R"re(Benjamin|Harper|Leo|Zoe|Daniel|Chloe|Samuel|Lily|Matthew|Grace|Owen|Abigail|Gabriel|Ella|Jacob|Scarlett|)re"
      R"re(Nathan|Victoria|Elijah|Layla|Nicholas|Audrey|David|Hannah|Christopher|Penelope|Thomas|Nora|Andrew|Aria|)re"
      R"re(Joseph|Claire|Ryan|Stella|Jonathan)\b)re");
  return std::ssize(std::set<std::string_view>(found.begin(), found.end())) >= n;
}

std::set<std::u32string> make_trigrams(std::string_view text) {
  const std::u32string characters = to_characters(text);
  std::set<std::u32string> trigrams;
  for (size_t i = 0; i + 3 <= characters.size(); ++i) trigrams.insert(characters.substr(i, 3));
  return trigrams;
}

/// Checks the share of the text's distinct character trigrams that also occur in the reference.
bool overlap(const CheckedText& text, const Arguments& args) {
  const std::set<std::u32string> wanted = make_trigrams(args.exact_text("reference_text"));
  const double percentage = static_cast<double>(args.whole("percentage"));
  const std::set<std::u32string> trigrams = make_trigrams(text.text());
  if (trigrams.empty()) return false;
  const auto common = std::ranges::count_if(trigrams, [&](const auto& trigram) { return wanted.contains(trigram); });
  const double share = static_cast<double>(common) / static_cast<double>(trigrams.size()) * 100;
  return percentage - 2 <= share && share <= percentage + 2;
}

bool numbers(const CheckedText& text, const Arguments& args) {
  const int64_t n = args.whole("N");
  return std::ssize(text.find_all(R"(\d+)", without_marks(text.text()))) == n;
}

bool punctuation(const CheckedText& checked, const Arguments&) {
  std::string text(checked.text());
  const bool has_sign = text.find("‽") != std::string::npos;
  size_t mark = text.find("?!");
  if (mark == std::string::npos) mark = text.find("!?");
  if (mark == std::string::npos && !has_sign) return false;
  if (mark != std::string::npos) text.erase(mark, 2);
  return std::ranges::all_of(std::string_view(".,!?;:"), [&](char c) { return text.find(c) != std::string::npos; });
}

bool words_japanese(const CheckedText& text, const Arguments& args) {
  const int64_t n = positive(args, "N");
  const auto words = split_words(text.text());
  for (size_t i = static_cast<size_t>(n) - 1; i < words.size(); i += static_cast<size_t>(n)) {
    const std::u32string word = to_characters(between_marks(words[i]));
    const auto is_japanese = [](char32_t c) { return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x4e00 && c <= 0x9fff); };
    if (!std::ranges::all_of(word, is_decimal_digit) && std::ranges::none_of(word, is_japanese)) return false;
  }
  return true;
}

bool pronouns(const CheckedText& text, const Arguments& args) {
  static const Words known = word_set(
      "i me we us you he him she her it they them my mine our ours your yours his hers its their theirs myself "
      "ourselves yourself yourselves himself herself itself themselves this that these those who whom whose which what "
      "whoever whomever whatever "
      "whichever "
      "anybody anyone anything everybody everyone everything nobody nothing "
      "somebody someone something each either neither both all some any none");
  const int64_t n = args.whole("N");
  std::string spaced = text.lowered();
  std::ranges::replace(spaced, '/', ' ');
  int64_t count = 0;
  for (const std::string_view sentence : split_sentences(spaced))
    for (const std::string_view token : split_tokens(text, sentence)) count += known.contains(token);
  return count >= n;
}

bool keywords_multiple(const CheckedText& text, const Arguments& args) {
  bool follows = true;
  for (const auto& [key, n] : std::map<const char*, size_t>{
           {"keyword1", 1}, {"keyword2", 2}, {"keyword3", 3}, {"keyword4", 5}, {"keyword5", 7}})
    follows &= count_parts(text.lowered(), lower(args.text(key))) == n;
  return follows;
}

// ---- words

/// Each word begins with the next letter of the alphabet (ASCII) after the word before.
bool alphabet(const CheckedText& text, const Arguments&) {
  const std::string kept = without_marks(text.text());
  const auto words = split_words(kept);
  char wanted = 0;
  for (const std::string_view word : words) {
    const char letter = lower(word)[0];
    if (letter < 'a' || letter > 'z' || (wanted && letter != wanted)) return false;
    wanted = letter == 'z' ? 'a' : static_cast<char>(letter + 1);
  }
  return !words.empty();
}

bool three_vowels(const CheckedText& text, const Arguments&) {
  if (trimmed(text.text()).find('\n') != std::string_view::npos) return false;
  return std::ranges::count_if(std::string_view("aeiou"),
                               [&](char c) { return text.lowered().find(c) != std::string::npos; }) <= 3;
}

bool consonants(const CheckedText& text, const Arguments&) {
  const auto is_consonant = [](char c) {
    return std::string_view("bcdfghjklmnpqrstvwxyz").find(c) != std::string_view::npos;
  };
  return std::ranges::all_of(split_words(text.lowered()), [&](std::string_view word) {
    return std::ranges::adjacent_find(word, [&](char a, char b) { return is_consonant(a) && is_consonant(b); }) !=
           word.end();
  });
}

bool palindromes(const CheckedText& text, const Arguments&) {
  const std::string kept = lower(without_marks(text.text()));
  return std::ranges::count_if(split_words(kept), [](std::string_view word) {
           const std::u32string letters = to_characters(word);
           return letters.size() >= 5 && std::equal(letters.begin(), letters.end(), letters.rbegin());
         }) >= 10;
}

bool prime_lengths(const CheckedText& text, const Arguments&) {
  const std::string kept = without_marks(text.text());
  return std::ranges::all_of(split_words(kept), [](std::string_view word) {
    const size_t length = count_characters(word);
    bool is_prime = length >= 2 && length < 100;
    for (size_t d = 2; d * d <= length && is_prime; ++d) is_prime = length % d != 0;
    return is_prime;
  });
}

bool repeats(const CheckedText& text, const Arguments& args) {
  const int64_t most = args.whole("small_n");
  const std::string kept = without_marks(text.lowered());
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view word : split_words(kept)) ++counts[word];
  return std::ranges::all_of(counts, [&](const auto& count) { return count.second <= most; });
}

bool paragraph_last_first(const CheckedText& text, const Arguments&) {
  return std::ranges::all_of(split(text.text(), "\n"), [](std::string_view paragraph) {
    const std::string lowered = lower(trimmed(paragraph));
    const auto words = split_words(between_marks(lowered));
    return words.empty() || words.front() == words.back();
  });
}

bool no_consecutive(const CheckedText& text, const Arguments&) {
  const std::string kept = without_marks(text.lowered());
  const auto words = split_words(kept);
  return std::ranges::adjacent_find(words, [](std::string_view a, std::string_view b) {
           return first_character(a) == first_character(b);
         }) == words.end();
}

bool keywords_position(const CheckedText& text, const Arguments& args) {
  const std::string keyword = args.text("keyword");
  const int64_t n = positive(args, "n"), m = positive(args, "m");
  const auto sentences = split_sentences(text.text());
  if (std::ssize(sentences) < n) return false;
  auto words = split_tokens(text, sentences[static_cast<size_t>(n - 1)]);
  std::erase_if(words, [&](std::string_view token) { return text.find_all(R"([\p{L}\p{N}])", token).empty(); });
  return std::ssize(words) >= m && lower(words[static_cast<size_t>(m - 1)]) == lower(keyword);
}

/// The keyword is the second and the second to last token, not counting a final mark. NLTK writes a quotation mark as
/// two characters, so that one counts.
bool words_position(const CheckedText& text, const Arguments& args) {
  const std::string keyword = lower(args.text("keyword"));
  auto tokens = split_tokens(text);
  if (!tokens.empty() && tokens.back().size() == 1 && is_mark(tokens.back()[0]) && tokens.back() != "\"")
    tokens.pop_back();
  return tokens.size() >= 2 && lower(tokens[1]) == keyword && lower(tokens[tokens.size() - 2]) == keyword;
}

// ---- sentences

/// Returns how many words of a sentence share the first character with an adjacent word.
int64_t count_alliteration(std::string_view sentence) {
  const std::string lowered = lower(sentence);
  std::vector<std::string_view> firsts;
  for (const std::string_view word : split_words(lowered))
    if (const std::string_view clean = without_first_marks(word); !clean.empty())
      firsts.push_back(first_character(clean));
  int64_t count = 0;
  bool was_same = false;
  for (size_t i = 0; i + 1 < firsts.size(); ++i) {
    const bool is_same = firsts[i] == firsts[i + 1];
    if (is_same) count += was_same ? 1 : 2;
    was_same = is_same;
  }
  return count;
}

bool alliteration_increment(const CheckedText& text, const Arguments&) {
  int64_t before = -1;
  for (const std::string_view sentence : split_sentences(text.text())) {
    const int64_t count = count_alliteration(sentence);
    if (count <= before) return false;
    before = count;
  }
  return true;
}

/// Three sentences have equal length in characters.
bool sentence_words(const CheckedText& text, const Arguments&) {
  const auto sentences = split_sentences(text.text());
  return sentences.size() == 3 && count_characters(sentences[0]) == count_characters(sentences[1]) &&
         count_characters(sentences[1]) == count_characters(sentences[2]);
}

bool sentence_keyword(const CheckedText& text, const Arguments& args) {
  const std::string word = args.text("word");
  const int64_t n = positive(args, "N");
  const auto sentences = split_sentences(text.text());
  return std::ssize(sentences) >= n && count_whole_words(fold(sentences[static_cast<size_t>(n - 1)]), fold(word)) > 0;
}

bool last_first(const CheckedText& text, const Arguments&) {
  const auto sentences = split_sentences(text.text());
  for (size_t i = 0; i + 1 < sentences.size(); ++i) {
    const auto last = split_words(without_last_marks(sentences[i]));
    const auto first = split_words(without_first_marks(sentences[i + 1]));
    if (last.empty() || first.empty() || lower(last.back()) != lower(first.front())) return false;
  }
  return true;
}

bool sentence_increment(const CheckedText& text, const Arguments& args) {
  const int64_t step = args.whole("small_n");
  int64_t before = -1;
  for (const std::string_view sentence : split_sentences(text.text())) {
    const std::string kept = without_marks(sentence);
    const int64_t count = std::ssize(split_words(kept));
    if (before >= 0 && count != before + step) return false;
    before = count;
  }
  return before >= 0;
}

bool sentence_alphabet(const CheckedText& text, const Arguments&) {
  const auto sentences = split_sentences(text.text());
  char wanted = 'a';
  return sentences.size() == 26 &&
         std::ranges::all_of(sentences, [&](std::string_view sentence) { return lower(sentence)[0] == wanted++; });
}

constexpr InstructionKind kOfIfBench[] = {
    {"count:word_count_range", word_count_range},
    {"count:unique_word_count", unique_word_count},
    {"ratio:stop_words", stop_word_ratio},
    {"ratio:sentence_type", sentence_type},
    {"ratio:sentence_balance", sentence_balance},
    {"count:conjunctions", conjunctions},
    {"count:person_names", person_names},
    {"ratio:overlap", overlap},
    {"count:numbers", numbers},
    {"count:punctuation", punctuation},
    {"count:words_japanese", words_japanese},
    {"count:pronouns", pronouns},
    {"count:keywords_multiple", keywords_multiple},
    {"words:alphabet", alphabet},
    {"words:vowel", three_vowels},
    {"words:consonants", consonants},
    {"words:palindrome", palindromes},
    {"words:prime_lengths", prime_lengths},
    {"words:repeats", repeats},
    {"words:last_first", last_first},
    {"words:paragraph_last_first", paragraph_last_first},
    {"words:no_consecutive", no_consecutive},
    {"words:keywords_specific_position", keywords_position},
    {"words:words_position", words_position},
    {"ratio:sentence_words", sentence_words},
    {"sentence:alliteration_increment", alliteration_increment},
    {"sentence:keyword", sentence_keyword},
    {"sentence:increment", sentence_increment},
    {"custom:sentence_alphabet", sentence_alphabet},
};

}  // namespace

std::span<const InstructionKind> ifbench_instructions() {
  return kOfIfBench;
}

}  // namespace roll::ifeval
