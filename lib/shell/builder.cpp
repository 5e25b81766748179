#include "shell/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "shell/cursor.h"
#include "shell/pattern.h"

namespace roll::shell {

void Builder::append_literal(std::string_view piece) {
  append_plain(makes_pattern ? as_pattern(piece) : std::string(piece));
}

void Builder::end_word() {
  if (has_text) fields.push_back({text, place});
  text.clear(), has_text = false;
}

void Builder::append_value(std::string_view piece, Place value_place, bool in_quotes) {
  if (in_quotes) return append_literal(piece);
  if (!splits) return piece.empty() ? void() : append_plain(piece);
  const auto first = piece.find_first_not_of(separators), last = piece.find_last_not_of(separators);
  const bool has_several_words = first != piece.npos && piece.find_first_of(separators, first) < last;
  const Place word_place = place;
  for (size_t at = 0; at < piece.size();) {
    const size_t stop = std::min(piece.find_first_of(separators, at), piece.size());
    if (stop > at && has_several_words) place = value_place;
    if (stop > at) append_plain(piece.substr(at, stop - at));
    if (stop < piece.size()) end_word();
    if (stop < piece.size() && piece[stop] == '\n') ++value_place.line;
    at = stop + 1;
  }
  if (!has_text) place = word_place;
}

void Builder::append_values(const std::vector<Field>& values, bool in_quotes) {
  const Place word_place = place;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) splits ? end_word() : append_plain(" ");
    if (splits && values.size() > 1) place = values[i].place;
    append_value(values[i].text, values[i].place, in_quotes);
  }
  if (!has_text) place = word_place;
}

namespace {

std::vector<std::string> number_sequence(std::string_view inside) {
  constexpr int64_t kMaxLength = 200, kMost = 1'000'000;
  const size_t dots = std::min(inside.find(".."), inside.size());
  const auto number = [](std::string_view text) -> std::optional<int64_t> {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole_text = error == std::errc() && stop == text.data() + text.size();
    return is_whole_text && std::abs(value) <= kMost ? std::optional(value) : std::nullopt;
  };
  const auto first = number(inside.substr(0, dots));
  const auto last = number(inside.substr(std::min(dots + 2, inside.size())));
  if (!first || !last || std::abs(*last - *first) > kMaxLength) return {};
  std::vector<std::string> numbers;
  for (int64_t i = *first;; i += *first <= *last ? 1 : -1) {
    numbers.push_back(fmt::format("{}", i));
    if (i == *last) return numbers;
  }
}

}  // namespace

Braces parse_braces(std::string_view text) {
  Braces braces;
  int depth = 0;
  size_t from = 1;
  for (size_t i = 0; i < text.size() && !ends_word(text[i]) && std::string_view("'\"$`\\").find(text[i]) == text.npos;
       ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth > 1 || (depth == 1 && text[i] != ',')) continue;
    if (depth == 0 && braces.choices.empty()) return {number_sequence(text.substr(1, i - 1)), i + 1};
    braces.choices.emplace_back(text.substr(from, i - from));
    from = i + 1;
    if (depth == 0) return braces.size = i + 1, braces;
  }
  return {};
}

}  // namespace roll::shell
