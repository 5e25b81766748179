#include "grammar/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "grammar/ebnf.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr int64_t kMaxRepetitions = 1000;
constexpr size_t kMaxGroupDepth = 32;

const Characters& digits() {
  static const Characters all = {{'0', '9'}};
  return all;
}

const Characters& letters() {
  static const Characters all = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return all;
}

const Characters& blanks() {
  static const Characters all = {{'\t', '\r'}, {' ', ' '}, {0xA0, 0xA0}};
  return all;
}

/// Returns only ASCII: regex engines disagree on other letters.
Characters ascii_complement(Characters characters) {
  characters.emplace_back(0x80, UINT32_MAX - 1);
  return complement(std::move(characters));
}

/// Characters that JSON escapes as a backslash and the given letter.
constexpr std::pair<uint32_t, char> kEscaped[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                                                  {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};

bool contains(const Characters& characters, uint32_t c) {
  return std::ranges::any_of(characters, [c](const auto& range) { return range.first <= c && c <= range.second; });
}

/// Returns a grammar of one of these characters in JSON; "" if JSON can write none.
std::string character_grammar(const Characters& characters) {
  std::string grammar = ebnf_plain_characters(characters);
  for (const auto& [c, letter] : kEscaped)
    if (contains(characters, c)) grammar += (grammar.empty() ? "" : " | ") + ebnf_literal(std::string("\\") + letter);
  return grammar.empty() ? "" : "(" + grammar + ")";
}

class PatternReader {
 public:
  PatternReader(std::string_view pattern, const std::string& key) : key_(key) {
    size_t at = 0;
    while (at < pattern.size()) characters_.push_back(next_code_point(pattern, at));
  }

  std::string read() {
    std::string grammar = alternatives();
    if (!is_at_end()) fail("a ) without a (,");
    return grammar;
  }

 private:
  bool is_at_end() const { return at_ == characters_.size(); }
  bool is_next(uint32_t c) const { return !is_at_end() && characters_[at_] == c; }
  bool take(uint32_t c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }
  uint32_t next(const char* missing) {
    if (is_at_end()) fail(missing);
    return characters_[at_++];
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw user_error("{}: {} at character {} of the pattern", key_, why, at_);
  }

  std::string alternatives() {
    if (++depth_ > kMaxGroupDepth) fail("groups nested too deep");
    std::string alternation;
    do {
      take('^');
      alternation += (alternation.empty() ? "" : " | ") + sequence();
    } while (take('|'));
    --depth_;
    return "(" + alternation + ")";
  }

  std::string sequence() {
    std::string sequence_text;
    while (!is_at_end() && !is_next('|') && !is_next(')')) {
      if (take('$')) {
        if (!is_at_end() && !is_next('|') && !is_next(')')) fail("$ is supported only at the end, but stands");
        break;
      }
      const std::string item = atom();
      sequence_text += (sequence_text.empty() ? "" : " ") + item + repetition();
    }
    return sequence_text.empty() ? "\"\"" : sequence_text;
  }

  std::string atom() {
    const uint32_t c = next("nothing");
    if (c == '(') return group();
    if (c == '.') return class_grammar(complement({{'\n', '\n'}, {'\r', '\r'}}));
    if (c == '[') return class_grammar(character_class());
    if (c == '\\') return class_grammar(escape());
    if (c == '*' || c == '+' || c == '?' || c == '{' || c == '^') fail("nothing to repeat, or a ^ in the middle,");
    return class_grammar({{c, c}});
  }

  std::string group() {
    if (take('?') && !take(':')) fail("(? is supported only as (?:, but stands");
    std::string grammar = alternatives();
    if (!take(')')) fail("an unclosed (");
    return grammar;
  }

  std::string class_grammar(const Characters& characters) const {
    std::string grammar = character_grammar(characters);
    if (grammar.empty()) fail("characters that JSON cannot contain");
    return grammar;
  }

  Characters escape() {
    const uint32_t c = next("a \\ at the end");
    if (c == 'd') return digits();
    if (c == 'D') return ascii_complement(digits());
    if (c == 'w') return letters();
    if (c == 'W') return ascii_complement(letters());
    if (c == 's') return blanks();
    if (c == 'S') return ascii_complement(blanks());
    const uint32_t code_point = escaped_character(c);
    return {{code_point, code_point}};
  }

  uint32_t escaped_character(uint32_t c) {
    constexpr std::string_view kNamed = "nrtfv", kNamedCharacters = "\n\r\t\f\v";
    if (c == 'x' || c == 'u') return hexadecimal(c == 'x' ? 2 : 4);
    const bool is_letter = c < 128 && contains(letters(), c);
    const size_t named = is_letter ? kNamed.find(static_cast<char>(c)) : std::string_view::npos;
    if (named != std::string_view::npos) return static_cast<uint32_t>(kNamedCharacters[named]);
    if (is_letter) fail(fmt::format("unsupported \\{}", static_cast<char>(c)));
    return c;
  }

  uint32_t hexadecimal(int count) {
    uint32_t value = 0;
    while (count-- > 0) {
      const uint32_t c = next("an unfinished escape");
      const bool is_digit = c >= '0' && c <= '9';
      const uint32_t lower = c | 0x20;
      if (!is_digit && (lower < 'a' || lower > 'f')) fail("an escape without hexadecimal digits");
      value = value * 16 + (is_digit ? c - '0' : lower - 'a' + 10);
    }
    return value;
  }

  Characters character_class() {
    constexpr const char* kOpen = "an unclosed [";
    const bool is_negated = take('^');
    bool has_class_escapes = false;  // \w, \d, \s or an opposite
    Characters members;
    while (!take(']')) {
      const uint32_t c = next(kOpen);
      has_class_escapes |=
          c == '\\' && !is_at_end() &&
          std::string_view("dDwWsS").find(static_cast<char>(characters_[at_])) != std::string_view::npos;
      const Characters first = c == '\\' ? escape() : Characters{{c, c}};
      const bool is_single = first.size() == 1 && first[0].first == first[0].second;
      const bool is_range = is_single && is_next('-') && at_ + 1 < characters_.size() && characters_[at_ + 1] != ']';
      if (!is_range) {
        members.insert(members.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      const uint32_t end = next(kOpen), last = end == '\\' ? escaped_character(next(kOpen)) : end;
      if (last < first[0].first) fail("a range in reverse order");
      members.emplace_back(first[0].first, last);
    }
    if (!is_negated) return members;
    return has_class_escapes ? ascii_complement(members) : complement(members);
  }

  int64_t number() {
    int64_t value = 0;
    if (is_at_end() || characters_[at_] < '0' || characters_[at_] > '9') fail("{ without a number");
    while (!is_at_end() && characters_[at_] >= '0' && characters_[at_] <= '9' && value <= kMaxRepetitions)
      value = value * 10 + (characters_[at_++] - '0');
    if (value > kMaxRepetitions) fail(fmt::format("more than {} repetitions", kMaxRepetitions));
    return value;
  }

  std::string repetition() {
    std::string grammar;
    if (take('*'))
      grammar = "*";
    else if (take('+'))
      grammar = "+";
    else if (take('?'))
      grammar = "?";
    else if (take('{'))
      grammar = counted_repetition();
    if (!grammar.empty()) take('?');  // a lazy repetition matches the same texts
    if (!grammar.empty() && (is_next('*') || is_next('+') || is_next('?') || is_next('{'))) fail("two repetitions");
    return grammar;
  }

  std::string counted_repetition() {
    const int64_t least = number();
    std::optional<int64_t> most = least;
    if (take(',')) most = is_next('}') ? std::nullopt : std::optional(number());
    if (!take('}')) fail("an unclosed {");
    if (most && *most < least) fail("a repetition in reverse order");
    return ebnf_times(least, most);
  }

  const std::string& key_;
  std::vector<uint32_t> characters_;
  size_t at_ = 0, depth_ = 0;
};

}  // namespace

std::string pattern_grammar(std::string_view pattern, const std::string& key) {
  return PatternReader(pattern, key).read();
}

std::string format_pattern(const std::string& format) {
  static const std::string day = R"((0[1-9]|1\d|2[0-8]))";
  static const std::string date =
      R"(\d{4}-(02-)" + day + R"(|(0[469]|11)-(0[1-9]|[12]\d|30)|(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])))";
  static const std::string time = R"(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))";
  static const std::string host =
      R"([A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,20}[A-Za-z0-9])?){1,4})";
  static const std::map<std::string, std::string> all = {
      {"date", date},
      {"time", time},
      {"date-time", date + "T" + time},
      {"email", R"([A-Za-z0-9_%+-]{1,30}(\.[A-Za-z0-9_%+-]{1,30}){0,3}@)" + host},
      {"hostname", host},
      {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
      {"ipv4", R"(((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))"},
      {"uri", R"(https?://)" + host + R"((:\d{1,4})?(/[A-Za-z0-9._~-]*)*)"}};
  const auto found = all.find(format);
  return found == all.end() ? "" : found->second;
}

}  // namespace roll
