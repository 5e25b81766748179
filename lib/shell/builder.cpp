#include "shell/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "shell/pattern.h"

namespace roll::shell {

void Interpreter::Builder::literal(std::string_view piece) {
  has_text = true;
  if (makes_pattern)
    text += as_pattern(piece);
  else
    text += piece;
}

void Interpreter::Builder::end() {
  if (has_text) done.push_back({text, place});
  text.clear(), has_text = false;
}

void Interpreter::Builder::value(std::string_view piece, Place of_value, bool in_quotes) {
  if (in_quotes) return literal(piece);
  if (!splits) return piece.empty() ? void() : plain(piece);
  const std::string_view blanks = separators;
  const auto first = piece.find_first_not_of(blanks);
  const bool is_several = first != piece.npos && piece.find_first_of(blanks, first) < piece.find_last_not_of(blanks);
  const Place of_word = place;
  for (size_t at = 0; at < piece.size();) {
    if (blanks.find(piece[at]) != blanks.npos) {
      end();
      if (piece[at++] == '\n') ++of_value.line;
      continue;
    }
    const size_t stop = std::min(piece.find_first_of(blanks, at), piece.size());
    if (is_several) place = of_value;
    plain(piece.substr(at, stop - at));
    at = stop;
  }
  if (!has_text) place = of_word;
}

void Interpreter::Builder::list(const Fields& values, bool in_quotes) {
  const Place of_word = place;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && splits)
      end();
    else if (i > 0)
      plain(" ");
    if (splits && values.size() > 1) place = values[i].place;
    value(values[i].text, values[i].place, in_quotes);
  }
  if (!has_text) place = of_word;
}

namespace {

std::vector<std::string> sequence_of(std::string_view inside) {
  const size_t dots = inside.find("..");
  if (dots == inside.npos) return {};
  int64_t first = 0, last = 0;
  const auto parse_all = [](std::string_view text, int64_t& value) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && stop == text.data() + text.size();
  };
  if (!parse_all(inside.substr(0, dots), first) || !parse_all(inside.substr(dots + 2), last)) return {};
  constexpr int64_t kLongest = 200;
  if (first < -1'000'000 || first > 1'000'000 || last > first + kLongest || last < first - kLongest) return {};
  std::vector<std::string> numbers;
  for (int64_t i = first;; i += first <= last ? 1 : -1) {
    numbers.push_back(fmt::format("{}", i));
    if (i == last) return numbers;
  }
}

std::vector<std::string> choices_of(std::string_view inside) {
  std::vector<std::string> choices;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < inside.size(); ++i) {
    depth += inside[i] == '{' ? 1 : inside[i] == '}' ? -1 : 0;
    if (inside[i] != ',' || depth != 0) continue;
    choices.emplace_back(inside.substr(from, i - from));
    from = i + 1;
  }
  if (choices.empty()) return sequence_of(inside);
  choices.emplace_back(inside.substr(from));
  return choices;
}

}  // namespace

std::optional<Braces> find_braces(std::string_view word) {
  for (size_t at = 0; at < word.size(); ++at) {
    const char c = word[at];
    if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      at = end_of_quotes(word, at) - 1;
    } else if (c == '$') {
      at = end_of_dollar(word, at) - 1;
    } else if (c == '`') {
      at = end_of_backticks(word, at) - 1;
    } else if (c == '{') {
      const size_t end = end_of_brackets(word, at, '{', '}');
      if (word[end - 1] != '}') continue;
      const std::string_view inside = word.substr(at + 1, end - at - 2);
      const bool is_plain = inside.find_first_of("'\"$`\\") == inside.npos;
      if (auto choices = is_plain ? choices_of(inside) : std::vector<std::string>(); !choices.empty())
        return Braces{at, end, std::move(choices)};
    }
  }
  return std::nullopt;
}

}  // namespace roll::shell
