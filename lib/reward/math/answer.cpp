// Tries candidates from the most to the least reliable: boxes, the word "answer", the last formula or number. Each
// search is linear: one pass over the text, or over a bounded part.
#include "reward/math/answer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace roll::math {

namespace {

constexpr auto kNone = std::string_view::npos;

struct Span {
  size_t begin = 0, end = 0;  // the content
  size_t outer_begin = 0;     // start of the command or delimiter
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trimmed(std::string_view s, std::string_view drop) {
  const size_t begin = s.find_first_not_of(drop);
  return begin == kNone ? "" : s.substr(begin, s.find_last_not_of(drop) - begin + 1);
}

/// Returns the start of the "\boxed" or "\fbox" whose content opens at `brace`.
size_t box_before(std::string_view s, size_t brace) {
  while (brace > 0 && is_space(s[brace - 1])) --brace;
  for (const std::string_view command : {"\\boxed", "\\fbox"})
    if (brace >= command.size() && s.substr(brace - command.size(), command.size()) == command)
      return brace - command.size();
  return kNone;
}

/// Returns all closed boxes, in the order in which they close. One pass with a stack of open braces.
std::vector<Span> closed_boxes(std::string_view s) {
  std::vector<size_t> open;
  std::vector<Span> boxes;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size() && (s[i + 1] == '{' || s[i + 1] == '}' || s[i + 1] == '\\')) {
      ++i;
    } else if (s[i] == '{') {
      open.push_back(i);
    } else if (s[i] == '}' && !open.empty()) {
      const size_t begin = box_before(s, open.back());
      if (begin != kNone) boxes.push_back({open.back() + 1, i, begin});
      open.pop_back();
    }
  }
  return boxes;
}

/// Returns whether the text between two boxes joins them to one answer: "and", "or", a comma or a semicolon, and
/// otherwise only short names ("\boxed{1} and y = \boxed{2}"). After a whole sentence only the last box counts.
bool joins(std::string_view between) {
  if (between.size() > 60) return false;
  bool separated = false;
  for (size_t i = 0; i < between.size();) {
    const size_t begin = i;
    while (i < between.size() && std::isalpha(static_cast<unsigned char>(between[i])) != 0) ++i;
    const std::string_view word = between.substr(begin, i - begin);
    const char sign = word.empty() ? between[i++] : '\0';
    separated = separated || word == "and" || word == "or" || sign == ',' || sign == ';';
    if (word.size() > 3 || sign == '.' || sign == '<' || sign == ':' || (!word.empty() && !separated)) return false;
  }
  return separated || trimmed(between, " $\\()[]\n").empty();
}

std::optional<std::string> boxed_answer(std::string_view s) {
  const std::vector<Span> boxes = closed_boxes(s);
  if (boxes.empty()) return std::nullopt;
  const auto content = [&](const Span& box) { return trimmed(s.substr(box.begin, box.end - box.begin), " \t\r\n"); };
  std::string answer(content(boxes.back()));
  std::string_view last = content(boxes.back());
  size_t next_begin = boxes.back().outer_begin;
  for (size_t i = boxes.size() - 1; i-- > 0;) {
    const Span& box = boxes[i];
    if (box.begin > next_begin) continue;  // inside the box already taken
    if (!joins(s.substr(box.end + 1, next_begin - box.end - 1))) break;
    if (content(box) != last) answer = std::string(content(box)) + ", " + answer;
    last = content(box);
    next_begin = box.outer_begin;
  }
  return answer;
}

struct Delimiters {
  std::string_view open, close;
};
constexpr std::array<Delimiters, 4> kDelimiters = {{{"$$", "$$"}, {"\\[", "\\]"}, {"\\(", "\\)"}, {"$", "$"}}};

/// Finds formulas from left to right, in linear time: it remembers which closing delimiters no longer occur.
class Formulas {
 public:
  explicit Formulas(std::string_view s) : s_(s) {}

  /// Returns the formula that opens at or after `at`, or nullopt. `at` must never decrease.
  std::optional<Span> next(size_t at) {
    for (size_t i = at; i < s_.size(); ++i) {
      if (s_[i] != '$' && s_[i] != '\\') continue;
      for (size_t kind = 0; kind < kDelimiters.size(); ++kind) {
        if (!s_.substr(i).starts_with(kDelimiters[kind].open)) continue;
        const size_t begin = i + kDelimiters[kind].open.size(), end = closing(kind, begin);
        if (end == kNone) break;
        return Span{begin, end, i};
      }
      if (s_[i] == '\\') ++i;
    }
    return std::nullopt;
  }

 private:
  size_t closing(size_t kind, size_t begin) {
    const size_t end = none_left_[kind] ? kNone : s_.find(kDelimiters[kind].close, begin);
    none_left_[kind] = end == kNone;
    return end;
  }

  std::string_view s_;
  std::array<bool, kDelimiters.size()> none_left_{};
};

std::optional<Span> last_formula(std::string_view s) {
  std::optional<Span> last;
  Formulas formulas(s);
  size_t at = 0;
  while (const auto formula = formulas.next(at)) {
    if (!trimmed(s.substr(formula->begin, formula->end - formula->begin), " \t\r\n").empty()) last = formula;
    at = formula->end + 1;
    while (at < s.size() && (s[at] == '$' || s[at] == ']' || s[at] == ')')) ++at;
  }
  return last;
}

/// Returns the last number outside words, with sign, fraction bar, thousands separators and percent sign.
std::optional<Span> last_number(std::string_view s) {
  const size_t last = s.find_last_of("0123456789");
  if (last == kNone) return std::nullopt;
  size_t begin = last;
  const auto inside = [&](size_t i) {
    return is_digit(s[i]) ||
           ((s[i] == '.' || s[i] == ',' || s[i] == '/') && i > 0 && is_digit(s[i - 1]) && is_digit(s[i + 1]));
  };
  while (begin > 0 && inside(begin - 1)) --begin;
  if (begin > 0 && s[begin - 1] == '.') --begin;
  if (begin > 0 && s[begin - 1] == '-') --begin;
  const size_t end = last + 1 < s.size() && s[last + 1] == '%' ? last + 2 : last + 1;
  return Span{begin, end, begin};
}

/// Returns the last position of "answer" (any case) before `end`; npos if there is none.
size_t last_answer_word(std::string_view s, size_t end) {
  const std::string_view word = "answer";
  for (size_t i = std::min(end, s.size()); i-- > 0;) {
    if (i + word.size() > s.size()) continue;
    const bool is_match = std::equal(word.begin(), word.end(), s.begin() + static_cast<std::ptrdiff_t>(i),
                                     [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
    if (is_match) return i;
  }
  return kNone;
}

/// Returns the text introduced by "is", ":" or "=" after "answer", up to the end of the line; "" if there is none.
std::string_view introduced(std::string_view rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  size_t at = kNone;
  for (const std::string_view word : {" is:", " is ", ": ", ":", "= "}) {
    const size_t found = line.substr(0, 110).find(word);
    if (found != kNone && found < at) at = found + word.size();
  }
  if (at == kNone) return "";
  std::string_view answer = trimmed(line.substr(std::min(at, line.size())), " \t\r*:");
  if (answer.empty()) answer = trimmed(rest.substr(line.size()).substr(0, 400), " \t\r\n*");
  return answer.substr(0, answer.find('\n'));
}

/// Returns a formula near the start of the text, else the text up to the end of its sentence, after its last "is".
std::string phrase_content(std::string_view text) {
  const auto formula = Formulas(text).next(0);
  if (formula && formula->outer_begin <= 50)
    return std::string(trimmed(text.substr(formula->begin, formula->end - formula->begin), " \t\r\n"));
  std::string_view sentence = text.substr(0, std::min(text.find(". "), size_t{300}));
  const size_t is = sentence.rfind(" is ");
  if (is != kNone) sentence.remove_prefix(is + 4);
  for (const std::string_view word : {"equal to ", "exactly ", "approximately ", "about "})
    if (sentence.starts_with(word)) sentence.remove_prefix(word.size());
  return std::string(trimmed(sentence, " \t\r\n*"));
}

std::optional<std::string> phrase_answer(std::string_view s) {
  size_t at = s.size();
  for (int tries = 0; tries < 4; ++tries) {
    at = last_answer_word(s, at);
    if (at == kNone) return std::nullopt;
    const std::string_view text = introduced(s.substr(at + 6));
    if (!text.empty()) return phrase_content(text);
  }
  return std::nullopt;
}

}  // namespace

Answer find_answer(std::string_view s) {
  if (auto boxed = boxed_answer(s)) return {std::move(*boxed), "boxed"};
  if (auto phrase = phrase_answer(s)) return {std::move(*phrase), "phrase"};
  const auto formula = last_formula(s), number = last_number(s);
  const auto content = [&](const Span& x) { return std::string(s.substr(x.begin, x.end - x.begin)); };
  if (formula && (!number || formula->end >= number->end)) return {content(*formula), "latex"};
  if (number) return {content(*number), "number"};
  return {};
}

std::string unboxed(std::string_view text) {
  return boxed_answer(text).value_or(std::string(text));
}

}  // namespace roll::math
