#include "reward/judge/verdict.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "reward/final_answer.h"
#include "reward/reply.h"
#include "reward/same_text.h"

namespace roll {

namespace {

constexpr std::string_view kMarkup = "*_`\"'#[](){}<>.!: \t\r\v\f";  // what may stand around a lonely YES

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters of two bytes in UTF-8, such as é, count by their first one; what has three, such as 。, separates words.
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_' || (byte >= 0xC3 && byte <= 0xDF);
}

/// A text that is read from its beginning.
class Reading {
 public:
  explicit Reading(std::string_view text) : left_(text) {}

  void skip(std::string_view characters) {
    left_.remove_prefix(std::min(left_.find_first_not_of(characters), left_.size()));
  }
  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  /// 7, 7.5, .5; nothing where digits go on in another way: 1.2.3, 7,5, 1e3, 7-8, 7%.
  std::optional<double> number() {
    double value = 0;
    const bool is_plain = !left_.empty() && (is_digit(left_[0]) || left_[0] == '.');
    const auto [end, error] =
        std::from_chars(left_.data(), left_.data() + left_.size(), value, std::chars_format::fixed);
    if (!is_plain || error != std::errc()) return std::nullopt;
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    if (left_.empty()) return value;
    const bool goes_on =
        left_.size() > 1 && is_digit(left_[1]) && std::string_view(".,-").find(left_[0]) != std::string_view::npos;
    if (goes_on || left_[0] == '%' || (is_word(left_[0]) && left_[0] != '_')) return std::nullopt;
    return value;
  }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

Verdict unreadable(std::string_view text, const std::string& why) {
  return {.problem = fmt::format("answered {}: {}", said_text(text), why)};
}

/// What stands behind "Score:".
Verdict score_at(Reading& reading, std::string_view said, std::optional<double> best_score, bool is_cut) {
  const auto number = reading.number();
  if (!number) return unreadable(said, "its score is no number");
  if (is_cut && reading.is_at_end()) return unreadable(said, "it was cut off within the score; raise max_new_tokens");
  std::optional<double> best = best_score;
  Reading rest = reading;
  rest.skip("*_` \t");
  if (rest.take("/") || rest.take("out of")) {
    rest.skip(" \t");
    best = rest.number();
    if (!best || *best <= 0) return unreadable(said, "what its score is out of is no number above 0");
    if (is_cut && rest.is_at_end()) return unreadable(said, "it was cut off within the score; raise max_new_tokens");
    reading = rest;
  }
  const double score = *number / best.value_or(*number > 1 ? 10 : 1);
  if (!(score >= 0 && score <= 1)) return unreadable(said, "its score is out of range");
  return {.score = score};
}

/// Behind the last "score" with a colon or equals sign; nullopt: there is none.
std::optional<Reading> behind_last_score(std::string_view text) {
  constexpr std::string_view kWord = "score", kWideColon = "\xEF\xBC\x9A";
  std::optional<Reading> found;
  auto at = text.begin();
  while (true) {
    at = std::search(at, text.end(), kWord.begin(), kWord.end(), [](char a, char b) { return ascii_lower(a) == b; });
    if (at == text.end()) return found;
    const bool begins_word = at == text.begin() || !is_word(at[-1]) || at[-1] == '_';
    Reading reading(std::string_view(at + kWord.size(), text.end()));
    reading.skip("*_`\"' \t");
    if (begins_word && (reading.take(":") || reading.take("=") || reading.take(kWideColon))) {
      reading.skip("*_`\"'[($ \t\r\n");
      found = reading;
    }
    at += kWord.size();
  }
}

std::string_view without_markup(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kMarkup), text.size());
  const size_t end = text.find_last_not_of(kMarkup);
  return end == std::string_view::npos ? "" : text.substr(begin, end + 1 - begin);
}

/// Which of the two were seen.
struct YesNo {
  bool yes = false, no = false;

  bool is_clear() const { return yes != no; }
  void add(std::string_view word) {
    yes = yes || std::ranges::equal(word, std::string_view("yes"), {}, ascii_lower);
    no = no || std::ranges::equal(word, std::string_view("no"), {}, ascii_lower);
  }
};

YesNo lonely_words(std::string_view text) {
  YesNo seen;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    seen.add(without_markup(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return seen;
}

/// The first word, the last one, and those in capitals: "I see no error" is no NO.
YesNo telling_words(std::string_view text) {
  YesNo seen;
  std::string_view word;
  for (auto begin = text.begin(); (begin = std::find_if(begin, text.end(), is_word)) != text.end();
       begin = word.end()) {
    const bool is_first = word.empty();
    word = {begin, std::find_if_not(begin, text.end(), is_word)};
    if (is_first || word == "YES" || word == "NO") seen.add(word);
  }
  seen.add(word);
  return seen;
}

}  // namespace

Verdict parse_verdict(std::string_view text, std::optional<double> best_score, bool is_cut) {
  const std::string_view said = behind_last(text, kThoughtEnd);
  if (said.find("<think>") != std::string_view::npos)
    return unreadable(text, "its reasoning does not end; raise max_new_tokens");
  if (stripped(said).empty()) return unreadable(text, "it says nothing");
  if (auto reading = behind_last_score(said)) return score_at(*reading, said, best_score, is_cut);
  const YesNo lonely = lonely_words(said), telling = telling_words(said);
  if (lonely.is_clear()) return {.score = lonely.yes ? 1 : 0};
  if (is_cut) return unreadable(said, "it was cut off before a verdict; raise max_new_tokens");
  if (telling.is_clear()) return {.score = telling.yes ? 1 : 0};
  return unreadable(said, telling.yes ? "both YES and NO" : "neither a line \"Score: N\" nor YES or NO");
}

Verdict parse_score(std::string_view text, std::optional<double> best_score) {
  const std::string said = stripped(text);
  YesNo word;
  word.add(said);
  if (word.is_clear()) return {.score = word.yes ? 1 : 0};
  Reading reading(said);
  Verdict verdict = score_at(reading, said, best_score, /*is_cut=*/false);
  if (verdict.score && !reading.is_at_end()) return unreadable(said, "its score is no number");
  return verdict;
}

}  // namespace roll
