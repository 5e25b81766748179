// Splits a text into words and the gaps between them. The letter of a choice is a one-letter word, and its neighbours
// tell whether it really names a choice.
#include "reward/choice/choice_letter.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/nearest.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

using WordList = std::set<std::string, std::less<>>;

const WordList kIntroduction = {"the",     "correct",   "right",     "best",       "final",     "my",     "answer",
                                "ans",     "option",    "choice",    "letter",     "is",        "would",  "be",
                                "must",    "should",    "so",        "thus",       "hence",     "it",     "that",
                                "choose",  "pick",      "select",    "go",         "with",      "most",   "likely",
                                "clearly", "therefore", "obviously", "definitely", "certainly", "surely", "probably"};
/// Words that mark the next letter as an answer.
const WordList kMarks = {"option", "choice", "answer", "letter", "is",   "be",
                         "choose", "pick",   "select", "with",   "chose"};
const WordList kNegations = {"not", "isn", "isn't", "neither", "nor", "except", "never", "than", "without"};
/// Words between two letters that are both named as answers.
const WordList kJoining = {"and",  "or",     "nor",    "maybe",  "possibly", "perhaps",
                           "also", "option", "choice", "either", "the"};
/// Words that may follow A or I as a letter; any other word makes it an article or a pronoun.
const WordList kContinuations = {"because", "since", "as",  "is", "was", "for",   "and",  "or", "which",
                                 "with",    "due",   "not", "by", "but", "seems", "fits", "has"};
const WordList kWrong = {"wrong", "incorrect", "not", "false", "ruled", "eliminated", "impossible", "out", "invalid"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word_byte(unsigned char c) {
  return is_letter(static_cast<char>(c)) || (c >= '0' && c <= '9') || (c >= 0xC3 && c <= 0xDF);  // "é", not "是"
}

struct WordText {
  explicit WordText(std::string_view plain) : plain(plain) {
    for (size_t at = 0; at < plain.size();) {
      const size_t begin = at;
      while (at < plain.size() && in_word(at)) at += static_cast<unsigned char>(plain[at]) >= 0xC3 ? 2 : 1;
      at = std::min(at, plain.size());
      if (at > begin) spans.emplace_back(begin, at);
      at = std::max(at, begin + 1);
    }
  }

  std::string_view word(size_t i) const {
    return i < spans.size() ? plain.substr(spans[i].first, spans[i].second - spans[i].first) : "";
  }
  /// Returns the text before word i; the text after the last word for i == spans.size().
  std::string_view gap(size_t i) const {
    const size_t begin = i == 0 ? 0 : spans[i - 1].second, end = i < spans.size() ? spans[i].first : plain.size();
    return plain.substr(begin, end - begin);
  }
  bool is_in(size_t i, const WordList& words) const { return words.contains(lower_ascii(word(i))); }

  std::string_view plain;
  std::vector<std::pair<size_t, size_t>> spans;

 private:
  /// Returns whether the byte belongs to a word; the apostrophe of "A's" does.
  bool in_word(size_t at) const {
    const bool apostrophe = plain[at] == '\'' && at > 0 && at + 1 < plain.size() && is_letter(plain[at - 1]);
    return is_word_byte(static_cast<unsigned char>(plain[at])) || (apostrophe && is_letter(plain[at + 1]));
  }
};

/// Returns whether the gap ends in a Chinese or Japanese character, after which a word needs no space.
bool ends_wide(std::string_view gap) {
  size_t at = gap.size();
  while (at > 0 && (gap[at - 1] & 0xC0) == 0x80) --at;
  return at > 0 && at < gap.size() && static_cast<unsigned char>(gap[at - 1]) >= 0xE3;
}

bool is_bracketed(const WordText& text, size_t i) {
  return (text.gap(i).ends_with('(') || text.gap(i).ends_with('[')) &&
         (text.gap(i + 1).starts_with(')') || text.gap(i + 1).starts_with(']'));
}

bool is_marked(const WordText& text, size_t i) {
  return is_bracketed(text, i) || ends_wide(text.gap(i)) || (i > 0 && text.is_in(i - 1, kMarks));
}

/// Returns whether punctuation or the end of the text follows word i.
bool is_closed(const WordText& text, size_t i) {
  const std::string_view behind = text.gap(i + 1);
  return i + 1 == text.spans.size() || (!behind.empty() && std::string_view(".):],;\n").find(behind[0]) != behind.npos);
}

/// Returns word i as the letter of a choice; 0 if it is none. A lower-case letter must be marked, or be the whole text.
char letter_at(const WordText& text, size_t i) {
  const std::string_view word = text.word(i);
  if (word.size() != 1 || !is_letter(word[0])) return 0;
  const bool is_small = word[0] >= 'a', is_also_word = word == "A" || word == "I" || word == "a" || word == "i";
  if (is_small && !(is_closed(text, i) && (i == 0 || is_marked(text, i)))) return 0;
  if (text.gap(i + 1).starts_with('-') || text.gap(i).ends_with('-')) return 0;  // "A-level"
  const bool is_word_use = is_also_word && text.gap(i + 1) == " " && !text.is_in(i + 1, kContinuations);
  const std::string_view next = text.word(i + 1);
  if (is_word_use && next.size() > 1) return 0;
  return static_cast<char>(is_small ? word[0] - 32 : word[0]);
}

bool is_ruled_out(const WordText& text, size_t i) {
  if (i > 0 && text.is_in(i - 1, kNegations)) return true;
  const bool has_verb = text.is_in(i + 1, {"is", "was", "cannot", "can't", "isn't", "can"});
  return text.is_in(i + 1, {"cannot", "can't", "isn't"}) ||
         (has_verb && (text.is_in(i + 2, kWrong) || text.is_in(i + 3, kWrong)));
}

/// Returns whether another choice follows the letter: "A or B", "A, B", "A/B", "A B", "A or Paris".
bool has_rival(const WordText& text, size_t i, char letter) {
  if (text.is_in(i + 1, {"or"}) && text.gap(i + 1) == " ") return true;
  for (size_t next = i + 1; next < text.spans.size(); ++next) {
    if (text.gap(next).find_first_not_of(" ,/&+;()[]") != std::string_view::npos) return false;
    if (const char other = letter_at(text, next); other != 0 && other != letter) return true;
    if (letter_at(text, next) == 0 && !text.is_in(next, kJoining)) return false;
  }
  return false;
}

/// Returns the number of introductory words at the start.
size_t num_introducing(const WordText& text) {
  size_t i = 0;
  while (i < text.spans.size() && letter_at(text, i) == 0 && (text.is_in(i, kIntroduction) || text.word(i) == "I")) ++i;
  return i;
}

}  // namespace

std::string without_markup(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      const size_t begin = at + 1;
      while (at + 1 < text.size() && is_letter(text[at + 1])) ++at;
      const bool has_argument = at + 1 < text.size() && text[at + 1] == '{';
      if (at + 1 == begin) ++at;  // "\(", "\ "
      if (!has_argument) plain += ' ';
    } else if (std::string_view("{}$*`\"_~").find(text[at]) == std::string_view::npos) {
      plain += text[at];
    } else if (text[at] == '~') {
      plain += ' ';
    }
  }
  return stripped(plain);
}

std::string_view behind_introduction(std::string_view plain) {
  const WordText text(plain);
  const size_t first = num_introducing(text);
  if (first < text.spans.size()) plain.remove_prefix(text.spans[first].first);
  while (plain.ends_with('.') || plain.ends_with(' ')) plain.remove_suffix(1);
  return plain;
}

char leading_letter(std::string_view plain) {
  const WordText text(plain);
  const size_t i = num_introducing(text);
  const char letter = letter_at(text, i);
  return letter == 0 || is_ruled_out(text, i) || has_rival(text, i, letter) ? 0 : letter;
}

char marked_letter(std::string_view plain) {
  const WordText text(plain);
  char found = 0;
  for (size_t i = 0; i < text.spans.size(); ++i) {
    const char letter = letter_at(text, i);
    if (letter == 0 || !is_marked(text, i) || is_ruled_out(text, i)) continue;
    if ((found != 0 && found != letter) || has_rival(text, i, letter)) return 0;
    found = letter;
  }
  return found;
}

}  // namespace roll
