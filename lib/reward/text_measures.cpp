#include "reward/text_measures.h"

#include <algorithm>

#include "unicode/unicode.h"

namespace roll {

namespace {

bool is_word_at(std::string_view text, size_t pos) {
  return pos < text.size() && is_word(next_code_point(text, pos));
}

bool is_word_before(std::string_view text, size_t pos) {
  return pos > 0 && is_word(previous_code_point(text, pos));
}

/// Calls found(begin) for each non-overlapping occurrence.
template <class F>
void for_each_part(std::string_view text, std::string_view part, const F& found) {
  if (part.empty()) return;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) found(at);
}

struct Cases {
  bool has_upper = false, has_lower = false;
};

Cases find_letter_cases(std::string_view text) {
  Cases cases;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    cases.has_upper = cases.has_upper || is_uppercase(c);
    cases.has_lower = cases.has_lower || is_lowercase(c);
  }
  return cases;
}

}  // namespace

std::string_view stripped_view(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string stripped(std::string_view text) {
  return std::string(stripped_view(text));
}

bool same_text(std::string_view a, std::string_view b, bool ignore_case) {
  const std::string left = stripped(a), right = stripped(b);
  return ignore_case ? std::ranges::equal(left, right, {}, ascii_lower, ascii_lower) : left == right;
}

std::string_view behind_last(std::string_view text, std::string_view mark) {
  const size_t at = text.rfind(mark);
  return at == std::string_view::npos ? text : text.substr(at + mark.size());
}

std::string_view after_thinking(std::string_view response) {
  const std::string_view answer = behind_last(response, kThoughtEnd);
  if (answer.size() == response.size()) return response;
  return answer.substr(std::min(answer.size(), answer.find_first_not_of('\n')));
}

std::string lower(std::string_view text) {
  std::string lowered;
  lowered.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    const char32_t c = next_code_point(text, pos);
    if (c == U'Σ' && is_final_sigma(text, begin, pos))
      append_utf8(lowered, U'ς');
    else if (c >= 0x80)
      append_lowercase(lowered, c);
    else
      lowered += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return lowered;
}

std::string fold(std::string_view text) {
  std::string folds;
  folds.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) append_utf8(folds, folded(next_code_point(text, pos)));
  return folds;
}

std::string_view trimmed(std::string_view text) {
  size_t begin = 0, end = text.size();
  for (size_t next = 0; begin < end && is_white_space(next_code_point(text, next));) begin = next;
  for (size_t next = end; end > begin && is_white_space(previous_code_point(text, next));) end = next;
  return text.substr(begin, end - begin);
}

bool is_blank(std::string_view text) {
  return trimmed(text).empty();
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for (size_t pos = 0; pos < text.size();) {
    const size_t start = pos;
    if (!is_white_space(next_code_point(text, pos))) continue;
    end_word(start);
    begin = pos;
  }
  end_word(text.size());
  return words;
}

std::vector<std::string_view> split(std::string_view text, std::string_view divider) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for_each_part(text, divider, [&](size_t at) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + divider.size();
  });
  parts.push_back(text.substr(begin));
  return parts;
}

size_t count_characters(std::string_view text) {
  size_t length = 0;
  for (size_t pos = 0; pos < text.size(); ++length) next_code_point(text, pos);
  return length;
}

size_t count_parts(std::string_view text, std::string_view part) {
  size_t count = 0;
  for_each_part(text, part, [&](size_t) { ++count; });
  return count;
}

size_t count_whole_words(std::string_view text, std::string_view word) {
  size_t count = 0;
  for_each_part(text, word,
                [&](size_t at) { count += !is_word_before(text, at) && !is_word_at(text, at + word.size()); });
  return count;
}

bool is_all_uppercase(std::string_view text) {
  const Cases cases = find_letter_cases(text);
  return cases.has_upper && !cases.has_lower;
}

bool is_all_lowercase(std::string_view text) {
  const Cases cases = find_letter_cases(text);
  return cases.has_lower && !cases.has_upper;
}

}  // namespace roll
