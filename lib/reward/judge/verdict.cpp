#include "reward/judge/verdict.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "reward/reply.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

constexpr std::string_view kWhitespace = " \t\r\n\v\f";
constexpr std::string_view kOpening = "*_`\"'#[](){}<$ \t\r\n\v\f";  // before a word or number; > marks a quotation
constexpr std::string_view kClosing = "*_`\"'#[](){}>$.,;!: \t\r\n\v\f";  // "7." is 7, ".7" is not
constexpr std::array<std::string_view, 7> kWrapping{"\\boxed", "\\text", "\u3002", "\uFF01",
                                                    "\u201C",  "\u201D", "\uFF1A"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kThoughts{
    {{"<think>", kThoughtEnd}, {"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns whether the byte belongs to a word. Two-byte UTF-8 letters such as é count by their first byte; three-byte
/// characters such as 。 separate words.
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_' || (byte >= 0xC3 && byte <= 0xDF);
}

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, ascii_lower, ascii_lower);
}

/// Reads a text from the front.
class Reading {
 public:
  explicit Reading(std::string_view text) : left_(text) {}

  void skip(std::string_view characters) {
    left_.remove_prefix(std::min(left_.find_first_not_of(characters), left_.size()));
  }
  bool take(std::string_view word) {
    if (!is_same_word(left_.substr(0, word.size()), word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  template <class Words>
  bool take_one_of(const Words& words) {
    return std::ranges::any_of(words, [this](std::string_view word) { return take(word); });
  }
  /// Takes a number 7, 7.5 or .5; nullopt if its digits continue otherwise: 1.2.3, 7,5, 1e3, 7-8, 7%.
  std::optional<double> number() {
    double value = 0;
    const bool is_plain = !left_.empty() && (is_digit(left_[0]) || left_[0] == '.');
    const auto [end, error] =
        std::from_chars(left_.data(), left_.data() + left_.size(), value, std::chars_format::fixed);
    if (!is_plain || error != std::errc()) return std::nullopt;
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    if (left_.empty()) return value;
    const bool continues =
        left_.size() > 1 && is_digit(left_[1]) && std::string_view(".,-").find(left_[0]) != std::string_view::npos;
    if (continues || left_[0] == '%' || (is_word(left_[0]) && left_[0] != '_')) return std::nullopt;
    return value;
  }
  std::string_view rest() const { return left_; }
  bool is_at_end() const { return left_.empty(); }
  bool is_at_digit() const { return !left_.empty() && is_digit(left_[0]); }
  bool is_at_line_end() const { return left_.empty() || left_[0] == '\n' || left_[0] == '\r'; }

 private:
  std::string_view left_;
};

Verdict unreadable(std::string_view text, const std::string& why) {
  return {.problem = fmt::format("answered {}: {}", said_text(text), why)};
}

/// Returns whether the text after a score leaves it unambiguous: not "7 or 8", "7 - 8", "10 would be too much".
bool stands_alone(Reading rest, bool in_sentence) {
  constexpr std::array<std::string_view, 8> kBreaks{".", ",", ";", "|", "(", "-", "\u2013", "\u2014"};
  rest.skip(in_sentence ? "*_` \t" : "*_`\"'$)]} \t");
  if (rest.take("point")) {
    rest.take("s");
    rest.skip(" \t");
  }
  if (rest.is_at_line_end()) return true;
  if (!rest.take_one_of(kBreaks)) return false;
  rest.skip(" \t");
  return !rest.is_at_digit();
}

/// Reads a score and an optional maximum ("7/10", "7 out of 10"); moves `reading` past both.
Verdict score_at(Reading& reading, std::string_view answer, std::optional<double> best_score, bool is_cut) {
  const std::string cut_off = "it was cut off within the score; raise max_new_tokens";
  const auto number = reading.number();
  if (!number) return unreadable(answer, "its score is not a number");
  if (is_cut && reading.is_at_end()) return unreadable(answer, cut_off);
  std::optional<double> best = best_score;
  Reading rest = reading;
  rest.skip("*_`( \t");
  if (rest.take("/") || rest.take("out of")) {
    rest.skip("*_` \t");
    best = rest.number();
    if (!best || *best <= 0) return unreadable(answer, "the maximum of its score is not a number above 0");
    if (is_cut && rest.is_at_end()) return unreadable(answer, cut_off);
    reading = rest;
  }
  const double score = *number / best.value_or(*number > 1 ? 10 : 1);
  if (!(score >= 0 && score <= 1)) return unreadable(answer, "its score is out of range");
  return {.score = score};
}

/// Returns the text without surrounding markup.
std::string_view bare(std::string_view text) {
  for (size_t before = text.size() + 1; text.size() < before;) {
    before = text.size();
    text.remove_prefix(std::min(text.find_first_not_of(kOpening), text.size()));
    text = text.substr(0, text.find_last_not_of(kClosing) + 1);
    for (const std::string_view wrapping : kWrapping) {
      if (text.starts_with(wrapping)) text.remove_prefix(wrapping.size());
      if (text.ends_with(wrapping)) text.remove_suffix(wrapping.size());
    }
  }
  return text;
}

/// Skips words such as "final" that may precede "score" and "verdict".
void skip_qualifiers(Reading& reading) {
  constexpr std::array<std::string_view, 5> kQualifiers{"final", "overall", "total", "my", "the"};
  reading.skip(" \t-+|*_`#[({\"'");
  while (reading.take_one_of(kQualifiers)) reading.skip(" \t_*");
}

bool take_colon(Reading& reading) {
  reading.skip("*_`\"' \t");
  return reading.take(":") || reading.take("=") || reading.take("\uFF1A");
}

/// A position where "Score:" may begin: the start of a line or sentence.
struct Beginning {
  size_t at;
  bool in_sentence;
};

std::vector<Beginning> beginnings(std::string_view text) {
  std::vector<Beginning> found{{0, false}};
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i - 1] == '\n') found.push_back({i, false});
    if (text[i] == ' ' && std::string_view(".!?").find(text[i - 1]) != std::string_view::npos)
      found.push_back({i, true});
  }
  return found;
}

/// Returns the grade after the last "Score:"; nullopt if there is none.
std::optional<Verdict> labelled_grade(std::string_view answer, std::optional<double> best_score, bool is_cut) {
  std::optional<Verdict> last;
  for (const auto& [at, in_sentence] : beginnings(answer)) {
    Reading reading(answer.substr(at));
    skip_qualifiers(reading);
    if (!reading.take("score")) continue;
    reading.take("s");
    if (!take_colon(reading)) continue;
    reading.skip("*_`\"'[($ \t\r\n");
    if (reading.take("\\boxed")) reading.skip("{ ");
    last = score_at(reading, answer, best_score, is_cut);
    if (last->score && !stands_alone(reading, in_sentence)) last = unreadable(answer, "its score is ambiguous");
  }
  return last;
}

/// Returns the text of "score" in a JSON object at the end of the answer.
std::optional<std::string> json_grade(std::string_view answer) {
  size_t begin = answer.starts_with('{') ? 0 : answer.find("\n{") + 1;
  const size_t end = answer.rfind('}');
  if ((begin == 0 && !answer.starts_with('{')) || end == std::string_view::npos || end < begin) return std::nullopt;
  if (!bare(answer.substr(end)).empty()) return std::nullopt;
  try {
    const Json object = parse_json(answer.substr(begin, end + 1 - begin), "answer");
    for (const auto& [key, value] : object.items()) {
      if (!is_same_word(key, "score")) continue;
      if (value.is_string()) return value.get<std::string>();
      if (value.is_number()) return to_line(value);
    }
  } catch (const UserError&) {  // braces without JSON
  }
  return std::nullopt;
}

/// Returns nullopt if the answer holds no grade.
std::optional<Verdict> grade_in(std::string_view answer, std::optional<double> best_score, bool is_cut) {
  if (const auto score = json_grade(answer)) return parse_score(*score, best_score);
  if (const auto grade = labelled_grade(answer, best_score, is_cut)) return grade;
  Reading whole(bare(answer));
  if (!whole.is_at_digit()) return std::nullopt;
  const Verdict grade = score_at(whole, answer, best_score, is_cut && !answer.ends_with('\n'));
  return whole.is_at_end() || !grade.score ? std::optional(grade) : std::nullopt;
}

/// The words found, YES and NO.
struct YesNo {
  bool yes = false, no = false;

  bool is_clear() const { return yes != no; }
  void add(std::string_view word) {
    yes = yes || is_same_word(word, "yes");
    no = no || is_same_word(word, "no");
  }
};

/// Returns the lines that are not blank.
std::vector<std::string_view> filled_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (text.find_first_not_of(kWhitespace) < end) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// "Verdict: YES" -> "YES"; returns a line without label unchanged. "Answer:" counts only on the last line, since
/// elsewhere the judge may be quoting an answer.
std::string_view behind_label(std::string_view line, bool is_last) {
  constexpr std::array<std::string_view, 5> kVerdict{"verdict", "output", "judgement", "judgment", "decision"};
  Reading reading(line);
  skip_qualifiers(reading);
  if (!reading.take_one_of(kVerdict) && !(is_last && reading.take("answer"))) return line;
  if (!take_colon(reading)) return line;
  return reading.rest();
}

/// Returns the words on the first and last line; ignores a last line that was cut off.
YesNo read_outer_lines(std::string_view answer, bool is_cut) {
  const auto lines = filled_lines(answer);
  YesNo seen;
  if (lines.size() > 1) seen.add(bare(behind_label(lines.front(), false)));
  if (!is_cut || answer.ends_with('\n')) seen.add(bare(behind_label(lines.back(), true)));
  return seen;
}

std::string missing_verdict(const AnswerFormat& answer_format) {
  if (!answer_format.grade) return "it is not YES or NO alone";
  return answer_format.yes_or_no ? "it has neither a line \"Score: N\" nor YES or NO alone"
                                 : "it has no line \"Score: N\"";
}

}  // namespace

Verdict parse_verdict(std::string_view text, const AnswerFormat& answer_format, bool is_cut) {
  std::string_view answer = text;
  for (const auto& [begin, end] : kThoughts) answer = behind_last(answer, end);
  for (const auto& [begin, end] : kThoughts)
    if (answer.find(begin) != std::string_view::npos)
      return unreadable(text, "its reasoning does not end; raise max_new_tokens");
  if (stripped(answer).empty()) return unreadable(text, "it is empty");
  if (answer_format.grade)
    if (const auto grade = grade_in(answer, answer_format.best_score, is_cut)) return *grade;
  YesNo whole;
  const std::string_view word = bare(answer);
  whole.add(word);
  // A cut answer may continue ("No" of "No idea"), but a word in capitals is the requested one.
  const bool is_whole = !is_cut || answer.ends_with('\n') || word == "YES" || word == "NO";
  if (whole.is_clear() && is_whole) return {.score = whole.yes ? 1 : 0};
  const YesNo seen = answer_format.yes_or_no ? read_outer_lines(answer, is_cut) : YesNo();
  if (seen.is_clear()) return {.score = seen.yes ? 1 : 0};
  if (is_cut) return unreadable(answer, "it was cut off before a verdict; raise max_new_tokens");
  return unreadable(answer, seen.yes ? "it has both YES and NO" : missing_verdict(answer_format));
}

Verdict parse_score(std::string_view text, std::optional<double> best_score) {
  const std::string answer = stripped(text);
  YesNo word;
  word.add(answer);
  if (word.is_clear()) return {.score = word.yes ? 1 : 0};
  Reading reading(answer);
  Verdict verdict = score_at(reading, answer, best_score, /*is_cut=*/false);
  if (verdict.score && !reading.is_at_end()) return unreadable(answer, "its score is not a number");
  return verdict;
}

}  // namespace roll
