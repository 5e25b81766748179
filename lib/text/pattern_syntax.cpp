#include "text/pattern_syntax.h"

#include <unicode/uniset.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr size_t kMaxBytes = 10'000, kMaxTranslated = 4 << 20;  // below PCRE2's own limit
constexpr std::string_view kSupportedSyntax =
    "supported: literals, ., [...], \\s \\w \\d \\h and their complements, \\p{L} and other categories, "
    "\\p{Han|Hiragana|"
    "Katakana|Hangul}, groups, (?i:...), look-around, alternation, quantifiers, anchors";

// Unicode White_Space. PCRE2's own \s also contains U+180E, Oniguruma's does not.
constexpr std::string_view kSpace =
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kNotSpace =
    "\\x00-\\x08\\x0e-\\x1f\\x21-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";

constexpr auto kCategories = std::to_array<std::string_view>(
    {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps",
     "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Co"});
constexpr auto kScripts = std::to_array<std::string_view>({"Han", "Hiragana", "Katakana", "Hangul"});

/// Lists an ICU set as ranges for a PCRE2 class, so that PCRE2's Unicode version does not matter.
std::string class_ranges(const char* icu_pattern) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeSet set(icu::UnicodeString::fromUTF8(icu_pattern), status);
  ROLL_CHECK(U_SUCCESS(status), "the set is spelled in this file");
  std::string out;
  for (int32_t i = 0; i < set.getRangeCount(); ++i)
    out += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", static_cast<uint32_t>(set.getRangeStart(i)),
                       static_cast<uint32_t>(set.getRangeEnd(i)));
  return out;
}

/// Oniguruma's \w inside and outside of a class; outside it also contains superscripts and fractions of Latin-1.
constexpr const char* kWordInClass = "[[:Alphabetic:][:M:][:Nd:][:Pc:]]";
constexpr const char* kWord = "[[:Alphabetic:][:M:][:Nd:][:Pc:]\\u00b2\\u00b3\\u00b9\\u00bc-\\u00be]";

const std::string& word_ranges() {
  static const std::string kRanges = class_ranges(kWord);
  return kRanges;
}
const std::string& word_ranges_in_class() {
  static const std::string kRanges = class_ranges(kWordInClass);
  return kRanges;
}

/// Oniguruma's case-insensitive matches of these pairs change the length (ss and U+00DF), PCRE2's never do.
bool folds_together(char a, char b) {
  const auto pair = std::array{static_cast<char>(a | 0x20), static_cast<char>(b | 0x20)};
  return (pair[0] == 's' && (pair[1] == 's' || pair[1] == 't')) ||
         (pair[0] == 'f' && (pair[1] == 'f' || pair[1] == 'i' || pair[1] == 'l'));
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where) : in_(pattern), where_(where) {}

  std::string run() {
    if (in_.size() > kMaxBytes)
      throw user_error("{}: the regular expression has {} bytes; at most {} are supported", where_, in_.size(),
                       kMaxBytes);
    while (pos_ < in_.size()) step();
    if (!groups_.empty()) fail("(", "is not closed", kCloseRemedy);
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kCloseRemedy = "close it";

  [[noreturn]] void fail(std::string_view construct, std::string_view what,
                         std::string_view remedy = kSupportedSyntax) const {
    throw user_error("{}: regular expression '{}', at byte {}: {} {}; {}", where_, in_, pos_, construct, what, remedy);
  }
  [[noreturn]] void unsupported(std::string_view construct) const { fail(construct, "is not supported"); }

  bool starts(std::string_view what) const { return in_.substr(pos_).starts_with(what); }
  void take(size_t n, std::string_view as) {
    pos_ += n;
    out_ += as;
    if (out_.size() > kMaxTranslated)
      throw user_error(
          "{}: the regular expression has too many \\w, \\b or Unicode scripts such as \\p{{Han}}: as ranges they take "
          "more than {} MiB; use fewer, or write shorter classes such as [A-Za-z0-9_]",
          where_, kMaxTranslated >> 20);
  }
  void begin_atom() { atom_ = out_.size(); }

  void step() {
    switch (in_[pos_]) {
      case '\\':
        return begin_atom(), last_literal_ = 0, escape(false);
      case '[':
        return begin_atom(), last_literal_ = 0, char_class();
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '{':
        return braces();
      case '^':
        return last_literal_ = 0, take(1, "^");
      case '$':
        return last_literal_ = 0, take(1, "$");
      case '|':
        return last_literal_ = 0, take(1, "|");
      case '?':
      case '*':
      case '+':
        return last_literal_ = 0, take(1, in_.substr(pos_, 1));
      case '.':
        return begin_atom(), last_literal_ = 0, take(1, ".");
      default:
        return literal();
    }
  }

  void literal() {
    begin_atom();
    const char c = in_[pos_];
    if (ignore_case_ && static_cast<unsigned char>(c) >= 0x80) unsupported("a letter beyond ASCII under (?i)");
    if (ignore_case_ && folds_together(last_literal_, c)) unsupported("ss, st, ff, fi or fl under (?i)");
    last_literal_ = c;
    size_t after = pos_;
    next_code_point(in_, after);
    take(after - pos_, in_.substr(pos_, after - pos_));
  }

  void open_group() {
    groups_.push_back({out_.size(), ignore_case_});
    last_literal_ = 0;
    for (const std::string_view plain : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
      if (starts(plain)) return take(plain.size(), plain);
    if (!starts("(?")) return take(1, "(?:");  // captures are not used
    option_group();
  }

  /// Translates (?i: (?-i: (?m: and (?i) at the very start of the pattern.
  void option_group() {
    std::string options;
    size_t i = pos_ + 2;
    bool on = true;
    for (; i < in_.size() && std::string_view("im-").find(in_[i]) != std::string_view::npos; ++i) {
      if (in_[i] == 'i') ignore_case_ = on;
      on = on && in_[i] != '-';
      options += in_[i] == 'm' ? 's' : in_[i];
    }
    const bool whole = i < in_.size() && in_[i] == ')' && pos_ == 0;
    if (i >= in_.size() || !(in_[i] == ':' || whole)) unsupported(in_.substr(pos_, std::min<size_t>(i + 1 - pos_, 6)));
    if (whole) groups_.pop_back();
    take(i + 1 - pos_, fmt::format("(?{}{}", options, in_[i]));
  }

  void close_group() {
    if (groups_.empty()) fail(")", "closes nothing");
    atom_ = groups_.back().start;
    ignore_case_ = groups_.back().ignore_case;
    groups_.pop_back();
    last_literal_ = 0;
    take(1, ")");
  }

  /// Translates {n} {n,} {n,m} {,m}. A following + repeats the group in Oniguruma, but is possessive in PCRE2.
  void braces() {
    const size_t close = in_.find('}', pos_);
    const std::string_view inside = in_.substr(pos_ + 1, close == std::string_view::npos ? 0 : close - pos_ - 1);
    const size_t comma = std::min(inside.find(','), inside.size());
    const auto digits = [](std::string_view s) { return s.find_first_not_of("0123456789") == std::string_view::npos; };
    if (inside.empty() || inside == "," || !digits(inside.substr(0, comma)) ||
        (comma < inside.size() && !digits(inside.substr(comma + 1))))
      unsupported("{ that opens no repetition (write \\{)");
    last_literal_ = 0;
    pos_ = close + 1;
    out_ += fmt::format("{{{}{}}}", comma == 0 ? "0" : "", inside);
    if (starts("?") && comma == inside.size()) unsupported("{n}?");
    if (!starts("+")) return;
    out_.insert(atom_, "(?:");
    take(1, ")+");
  }

  void char_class() {
    const bool negated = starts("[^");
    take(negated ? 2 : 1, negated ? "[^" : "[");
    if (starts("]")) take(1, "\\]");
    while (pos_ < in_.size() && in_[pos_] != ']') {
      if (in_[pos_] == '[') unsupported("[ within [...] (write \\[)");
      if (starts("&&")) unsupported("&& within [...]");
      if (in_[pos_] == '\\') {
        escape(true);
        continue;
      }
      if (ignore_case_ && static_cast<unsigned char>(in_[pos_]) >= 0x80)
        unsupported("a letter beyond ASCII under (?i)");
      take(1, in_.substr(pos_, 1));
    }
    if (pos_ == in_.size()) fail("[", "is not closed", kCloseRemedy);
    take(1, "]");
  }

  /// Translates an escape, inside or outside of a class.
  void escape(bool in_class) {
    if (pos_ + 1 >= in_.size()) fail("\\", "ends the pattern");
    const char c = in_[pos_ + 1];
    switch (c) {
      case 's':
        return set(2, kSpace, false, in_class);
      case 'S':
        return set(2, in_class ? kNotSpace : kSpace, !in_class, in_class);
      case 'h':
        return set(2, "0-9A-Fa-f", false, in_class);
      case 'd':
        return take(2, "\\p{Nd}");
      case 'D':
        return take(2, "\\P{Nd}");
      case 'w':
        return set(2, in_class ? word_ranges_in_class() : word_ranges(), false, in_class);
      case 'W':
        return in_class ? unsupported("\\W within [...]") : set(2, word_ranges(), true, false);
      case 'p':
      case 'P':
        return property(in_class);
      case 'u':
      case 'x':
        return code_point();
      case 'v':
        return take(2, "\\x0b");
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return take(2, in_.substr(pos_, 2));
      default:
        break;
    }
    if (!in_class && c == 'R') return take(2, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
    if (!in_class && (c == 'A' || c == 'z')) return take(2, in_.substr(pos_, 2));
    if (!in_class && (c == 'b' || c == 'B')) return word_boundary(c == 'b');
    const bool punctuation = c > 0x20 && c < 0x7f && !std::isalnum(static_cast<unsigned char>(c));
    if (!punctuation) unsupported(in_.substr(pos_, 2));
    take(2, in_.substr(pos_, 2));
  }

  void set(size_t length, std::string_view ranges, bool negated, bool in_class) {
    take(length, in_class ? std::string(ranges) : fmt::format("[{}{}]", negated ? "^" : "", ranges));
  }

  void word_boundary(bool boundary) {
    const std::string w = fmt::format("[{}]", word_ranges());
    take(2, boundary ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", w)
                     : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", w));
  }

  void property(bool in_class) {
    const size_t close = in_.find('}', pos_);
    if (!(starts("\\p{") || starts("\\P{")) || close == std::string_view::npos) unsupported(in_.substr(pos_, 2));
    std::string_view name = in_.substr(pos_ + 3, close - pos_ - 3);
    bool negated = in_[pos_ + 1] == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const size_t length = close + 1 - pos_;
    if (std::ranges::find(kCategories, name) != kCategories.end())
      return take(length, fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', name));
    if (std::ranges::find(kScripts, name) == kScripts.end()) unsupported(in_.substr(pos_, length));
    set(length, class_ranges(fmt::format("[{}[:Script={}:]]", negated ? "^" : "", name).c_str()), false, in_class);
  }

  /// Translates \u0041, \x41 (ASCII only: Oniguruma means a byte), \x{41}.
  void code_point() {
    const bool braced = starts("\\x{");
    const size_t begin = pos_ + (braced ? 3 : 2);
    const size_t end = braced ? std::min(in_.find('}', begin), in_.size()) : begin + (in_[pos_ + 1] == 'u' ? 4 : 2);
    const std::string digits(in_.substr(std::min(begin, in_.size()), end - begin));
    if (digits.empty() || digits.size() > 6 || (!braced && digits.size() != end - begin) ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      unsupported(in_.substr(pos_, 2));
    const auto value = std::stoul(digits, nullptr, 16);
    if (!braced && in_[pos_ + 1] == 'x' && value >= 0x80) unsupported("\\x80 to \\xff");
    take(end + (braced ? 1 : 0) - pos_, fmt::format("\\x{{{:x}}}", value));
  }

  struct Group {
    size_t start;
    bool ignore_case;
  };
  std::string_view in_;
  const std::string& where_;
  std::string out_;
  size_t pos_ = 0;
  size_t atom_ = 0;        // start of the last repeatable item in out_
  char last_literal_ = 0;  // 0: the last item was no plain character
  bool ignore_case_ = false;
  std::vector<Group> groups_;
};

}  // namespace

std::string translate_pattern(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

}  // namespace roll
