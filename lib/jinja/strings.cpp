#include "jinja/strings.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstring>

#include "jinja/budget.h"
#include "jinja/lexer.h"
#include "unicode/unicode.h"

namespace roll::jinja {

namespace {

/// Splits at whitespace; after `limit` words the rest is one element.
std::vector<std::string> split_words(const std::string& s, int64_t limit) {
  std::vector<std::string> out;
  size_t pos = 0;
  const auto skip = [&](bool space) {
    for (size_t next = pos; pos < s.size() && is_python_space(next_code_point(s, next)) == space;) pos = next;
  };
  for (skip(true); pos < s.size(); skip(true)) {
    const size_t begin = pos;
    charge(sizeof(std::string));
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(stripped(s.substr(begin), {}, false, true));
      break;
    }
    skip(false);
    out.push_back(s.substr(begin, pos - begin));
  }
  return out;
}

std::vector<std::string> split_words_from_end(const std::string& s, int64_t limit) {
  std::vector<std::string> words = split_words(s, -1);
  if (limit < 0 || static_cast<int64_t>(words.size()) <= limit) return words;
  // The first words keep the whitespace between them.
  std::string rest = stripped(s, {}, true, true);
  for (int64_t i = 0; i < limit; ++i) {
    charge(rest.size());
    rest = stripped(rest.substr(0, rest.size() - words[words.size() - 1 - i].size()), {}, false, true);
  }
  words.erase(words.begin(), words.end() - limit);
  words.insert(words.begin(), rest);
  return words;
}

void check_separator(const std::string& separator) {
  if (separator.empty()) throw Failure("split: the separator is empty");
}

bool is_line_end(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/// Applies `convert` to an ICU copy of `s`.
template <class Convert>
std::string convert_by_icu(const std::string& s, const Convert& convert) {
  charge(kStepBytes + 4 * s.size());  // conversion to UTF-16 and back
  icu::UnicodeString text = icu::UnicodeString::fromUTF8(s);
  std::string out;
  return convert(text).toUTF8String(out);
}

std::string reversed(std::string s) {
  std::ranges::reverse(s);
  return s;
}

}  // namespace

size_t find_text(const std::string& s, const std::string& part, size_t from) {
  const void* found = ::memmem(s.data() + from, s.size() - from, part.data(), part.size());
  const size_t at = found ? static_cast<size_t>(static_cast<const char*>(found) - s.data()) : std::string::npos;
  charge(std::min(at, s.size()) - from + 4 * part.size());
  return at;
}

std::vector<std::string> split(const std::string& s, const std::optional<std::string>& separator, int64_t limit) {
  if (!separator) return split_words(s, limit);
  check_separator(*separator);
  std::vector<std::string> out;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    const size_t at = find_text(s, *separator, begin);
    if (at == std::string::npos) break;
    out.push_back(s.substr(begin, at - begin));
    charge(sizeof(std::string));
    begin = at + separator->size();
  }
  out.push_back(s.substr(begin));
  return out;
}

std::vector<std::string> split_from_end(const std::string& s, const std::optional<std::string>& separator,
                                        int64_t limit) {
  if (!separator) return split_words_from_end(s, limit);
  check_separator(*separator);
  std::vector<std::string> out = split(reversed(s), reversed(*separator), limit);
  std::ranges::reverse(out);
  for (std::string& part : out) part = reversed(std::move(part));
  return out;
}

std::vector<std::string> split_lines(const std::string& s) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t pos = 0; pos < s.size();) {
    const size_t end = pos;
    const char32_t c = next_code_point(s, pos);
    if (!is_line_end(c)) continue;
    charge(sizeof(std::string));
    if (c == '\r' && pos < s.size() && s[pos] == '\n') ++pos;
    out.push_back(s.substr(begin, end - begin));
    begin = pos;
  }
  if (begin < s.size()) out.push_back(s.substr(begin));
  return out;
}

std::string stripped(const std::string& s, const std::optional<std::string>& characters, bool left, bool right) {
  const auto is_stripped = [&](char32_t c) {
    charge(1 + (characters ? characters->size() : 0));
    if (!characters) return is_python_space(c);
    std::string character;
    append_utf8(character, c);
    return characters->find(character) != std::string::npos;
  };
  size_t begin = 0, end = s.size();
  for (size_t pos = begin; left && pos < end && is_stripped(next_code_point(s, pos));) begin = pos;
  for (size_t pos = end; right && pos > begin && is_stripped(previous_code_point(s, pos));) end = pos;
  charge(end - begin);
  return s.substr(begin, end - begin);
}

std::string replaced(const std::string& s, const std::string& old, const std::string& replacement, int64_t count) {
  if (old.empty()) throw Failure("replace: the text to replace is empty");
  std::string out;
  size_t begin = 0;
  for (; count != 0; --count) {
    const size_t at = find_text(s, old, begin);
    if (at == std::string::npos) break;
    charge(replacement.size());
    check_length(out.append(s, begin, at - begin).append(replacement).size());
    begin = at + old.size();
  }
  return out.append(s, begin);
}

int64_t count_occurrences(const std::string& s, const std::string& part) {
  if (part.empty()) return Value(s).length() + 1;
  int64_t count = 0;
  for (size_t at = find_text(s, part, 0); at != std::string::npos; at = find_text(s, part, at + part.size())) ++count;
  return count;
}

std::string joined(const List& parts, const std::string& separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    charge(kStepBytes + separator.size());
    check_length(out.append(i > 0 ? separator : "").append(parts[i].text()).size());
  }
  return out;
}

std::string lowered(const std::string& s) {
  return convert_by_icu(
      s, [](icu::UnicodeString & text) -> auto& { return text.toLower(icu::Locale::getRoot()); });
}

std::string uppered(const std::string& s) {
  return convert_by_icu(
      s, [](icu::UnicodeString & text) -> auto& { return text.toUpper(icu::Locale::getRoot()); });
}

std::string capitalized(const std::string& s) {
  if (s.empty()) return s;
  size_t first = 0;
  next_code_point(s, first);
  return uppered(s.substr(0, first)) + lowered(s.substr(first));
}

std::string titled(const std::string& s) {
  std::string out;
  bool in_word = false;
  for (size_t pos = 0, begin = 0; pos < s.size(); begin = pos) {
    const char32_t c = next_code_point(s, pos);
    const std::string character = s.substr(begin, pos - begin);
    const bool is_final = c == U'Σ' && is_final_sigma(s, begin, pos);
    out += !in_word ? uppered(character) : is_final ? "ς" : lowered(character);
    in_word = u_isalpha(static_cast<UChar32>(c));
  }
  return out;
}

}  // namespace roll::jinja
