// The word lists are closed classes of English: abbreviations, and words capitalised only at a sentence's start.
#include "reward/ifeval/sentences.h"

#include <algorithm>
#include <set>
#include <string>

#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

using WordList = std::set<std::string, std::less<>>;

constexpr std::u32string_view kStops = U".?!\u2026", kFullWidthStops = U"\u3002\uFF1F\uFF01\u0964";
constexpr std::u32string_view kClosers = U"\"')]}*_\u201D\u2019\u00BB\u300D";
constexpr std::u32string_view kOpeners = U"\"'([{*_\u201C\u2018\u00AB";

/// Abbreviations that need a continuation: a title's name, an example.
const WordList kLeading = {"mr",   "mrs", "ms",   "dr",  "prof", "sen", "rep", "gov",  "gen", "col",    "maj", "capt",
                           "lt",   "sgt", "cmdr", "adm", "hon",  "rev", "fr",  "pres", "mt",  "messrs", "mme", "mlle",
                           "supt", "e.g", "i.e",  "eg",  "ie",   "cf",  "viz", "vs",   "v",   "approx", "ca",  "esp"};

/// Abbreviations that a number follows.
const WordList kNumbered = {"no", "nos", "fig", "figs", "vol", "vols", "p",
                            "pp", "sec", "ch",  "eq",   "eqs", "art",  "pt"};

/// Abbreviations that may end a sentence. Leaves out those that are also words (sun, may, mass).
const WordList kAbbreviations = {
    "jan",  "feb", "mar",   "apr",  "jun",   "jul",  "aug",  "sep",  "sept", "oct",  "nov",  "dec",  "tue",
    "tues", "wed", "thu",   "thur", "thurs", "fri",  "inc",  "ltd",  "co",   "cos",  "corp", "bros", "jr",
    "sr",   "esq", "ph.d",  "ave",  "blvd",  "rd",   "dept", "est",  "govt", "assn", "univ", "etc",  "al",
    "st",   "ft",  "calif", "conn", "fla",   "ariz", "colo", "tenn", "minn", "okla", "nev",  "va",   "ky",
    "ga",   "pa",  "yr",    "yrs",  "hr",    "hrs",  "mfg",  "tbsp", "tsp",  "oz"};

/// Words that are capitalised only at the start of a sentence, so hardly a name after an abbreviation.
const WordList kStarters = {
    "he",          "she",         "it",        "they",     "we",        "i",         "you",       "this",
    "that",        "these",       "those",     "there",    "here",      "the",       "a",         "an",
    "his",         "her",         "its",       "their",    "our",       "my",        "your",      "in",
    "on",          "at",          "by",        "for",      "from",      "with",      "without",   "after",
    "before",      "during",      "under",     "over",     "between",   "among",     "about",     "despite",
    "since",       "until",       "while",     "when",     "whenever",  "where",     "if",        "unless",
    "although",    "though",      "because",   "as",       "but",       "and",       "or",        "so",
    "yet",         "nor",         "however",   "moreover", "then",      "thus",      "therefore", "hence",
    "instead",     "indeed",      "also",      "still",    "perhaps",   "meanwhile", "finally",   "now",
    "once",        "later",       "soon",      "many",     "most",      "some",      "several",   "few",
    "each",        "every",       "all",       "both",     "another",   "other",     "what",      "which",
    "why",         "how",         "who",       "is",       "are",       "was",       "were",      "do",
    "does",        "did",         "can",       "could",    "would",     "should",    "have",      "has",
    "let",         "please",      "not",       "no",       "yes",       "to",        "according", "nevertheless",
    "nonetheless", "furthermore", "similarly", "today",    "yesterday", "tomorrow"};

bool is_one_of(std::u32string_view set, char32_t c) {
  return set.find(c) != std::u32string_view::npos;
}

size_t skip(std::string_view text, size_t pos, std::u32string_view set) {
  for (size_t next = pos; pos < text.size() && is_one_of(set, next_code_point(text, next));) pos = next;
  return pos;
}

/// "J", "U.S", "a.m": one letter, or single letters between periods.
bool is_initials(std::string_view lowered) {
  return std::ranges::all_of(split(lowered, "."), [](std::string_view part) {
    size_t pos = 0;
    const char32_t c = count_characters(part) == 1 ? next_code_point(part, pos) : U'_';
    return is_word(c) && !is_numeric(c) && c != U'_';
  });
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.,-") == std::string_view::npos;
}

/// Returns the last word, after white space or an opening mark; the apostrophe of "don't" is part of the word.
std::string_view last_word(std::string_view text) {
  size_t begin = text.size();
  for (size_t next = begin; begin > 0; begin = next) {
    const char32_t c = previous_code_point(text, next);
    size_t before = next;
    const bool is_inside = c == U'\'' && before > 0 && is_word(previous_code_point(text, before));
    if (is_white_space(c) || (is_one_of(kOpeners, c) && !is_inside) || c == U'\u2026') break;
  }
  return text.substr(begin);
}

bool holds_word(std::string_view text) {
  for (size_t pos = 0; pos < text.size();)
    if (is_word(next_code_point(text, pos))) return true;
  return false;
}

/// The text after white space.
struct Next {
  explicit Next(std::string_view text) {
    const size_t gap = text.size() - trimmed_left(text).size();
    is_paragraph = count_parts(text.substr(0, gap), "\n") > 1;
    const size_t begin = skip(text, gap, kOpeners);
    size_t end = begin;
    for (size_t pos = begin; pos < text.size() && is_word(next_code_point(text, pos));) end = pos;
    word = text.substr(begin, end - begin);
    size_t pos = 0;
    first = word.empty() ? 0 : next_code_point(word, pos);
  }

  bool begins_sentence() const { return is_paragraph || (is_uppercase(first) && kStarters.contains(lower(word))); }

  bool is_paragraph = false;
  std::string_view word;
  char32_t first = 0;

 private:
  static std::string_view trimmed_left(std::string_view text) {
    size_t begin = 0;
    for (size_t next = 0; begin < text.size() && is_white_space(next_code_point(text, next));) begin = next;
    return text.substr(begin);
  }
};

/// Returns whether a single period after `word` ends a sentence, given the text that follows.
bool period_ends(std::string_view word, const Next& next) {
  const std::string lowered = lower(word);
  if (kLeading.contains(lowered) && word != "V") return next.is_paragraph;  // "Henry V."
  if (kNumbered.contains(lowered) && is_numeric(next.first)) return false;
  if (kAbbreviations.contains(lowered) || is_initials(lowered)) return next.begins_sentence();
  if (is_number(lowered)) return next.is_paragraph || !is_lowercase(next.first);  // "item 1. and" goes on
  return true;
}

}  // namespace

std::vector<std::string_view> split_sentences(std::string_view text) {
  text = trimmed(text);
  std::vector<std::string_view> sentences;
  // A part without a word, such as the "..." of "... and so on", is no sentence.
  const auto add = [&](std::string_view part, std::string_view whole) {
    if (holds_word(part)) sentences.push_back(trimmed(whole));
  };
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t stop = pos;
    const char32_t c = next_code_point(text, pos);
    const bool is_full_width = is_one_of(kFullWidthStops, c);
    if (!is_full_width && !is_one_of(kStops, c)) continue;
    const size_t run_end = skip(text, pos, is_full_width ? kFullWidthStops : kStops);
    const bool is_single_period = c == U'.' && run_end == pos;
    const bool is_ellipsis = !is_single_period && skip(text, stop, U".\u2026") == run_end;
    pos = skip(text, run_end, kClosers);
    if (pos < text.size() && !is_full_width) {
      size_t next_pos = pos;
      if (!is_white_space(next_code_point(text, next_pos))) continue;
      const Next next(text.substr(pos));
      if (is_single_period && !period_ends(last_word(text.substr(begin, stop - begin)), next)) continue;
      if (is_ellipsis && !next.begins_sentence()) continue;
    }
    add(text.substr(begin, stop - begin), text.substr(begin, pos - begin));
    begin = pos;
  }
  add(text.substr(begin), text.substr(begin));
  return sentences;
}

}  // namespace roll::ifeval
